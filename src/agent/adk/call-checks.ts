import type { BaseTool, Context } from "@google/adk";
import type { Logger } from "../support/index.ts";
import { type GuardsSaid, tryGuards } from "./ask-guards.ts";
import { bindFreeCall, needsApproval } from "./bind-free-call.ts";
import { argumentsError, type CallInput, inputOf } from "./call-input.ts";
import type { CallHolder, RunScope } from "./run-scope.ts";
import { toolWantsApproval } from "./tool-checks.ts";

type Result = Record<string, unknown>;

interface ChangedCall {
  tool: BaseTool;
  /** The arguments in the event of the call. */
  args: Record<string, unknown>;
  changed: Record<string, unknown>;
  gated: boolean;
}

export interface CallChecksOptions {
  holder: Pick<CallHolder, "policyWantsApproval">;
  logger: Logger;
  /** Lets a call with this context pass the gate. */
  pass: (context: Context) => void;
}

/** What the gate finds out about a call before it holds it or lets it run. */
export class CallChecks {
  readonly #options: CallChecksOptions;

  constructor(options: CallChecksOptions) {
    this.#options = options;
  }

  /** True when a policy or the tool itself wants a person to approve the call; an error for arguments that do not fit. */
  async wantsApproval(
    tool: BaseTool,
    input: CallInput,
    context: Context,
    scope: Pick<RunScope, "owner" | "actor">,
  ): Promise<boolean | { error: string }> {
    const { agent } = context.invocationContext;
    const judged = { tool, agent, args: () => input.value(), state: () => context.state.toRecord() };
    const byPolicy = await this.#options.holder.policyWantsApproval(judged, scope);
    try {
      return byPolicy || (await toolWantsApproval(tool, input.value(), context));
    } catch (error) {
      return argumentsError(tool, error);
    }
  }

  /** Asks the callbacks of the other plugins and of the agent, which come after the gate. */
  guards(tool: BaseTool, input: CallInput, context: Context): Promise<GuardsSaid> {
    return tryGuards({ tool, input, context }, this.#options);
  }

  /**
   * Callbacks have changed the arguments of a call that is about to be held. Those of a free call are taken over, judged again
   * and shown; returns an error for the model if that cannot be. After a yes they would be a difference.
   */
  async takeOver(call: ChangedCall, context: Context, scope: RunScope): Promise<Result | undefined> {
    const { tool, args, changed, gated } = call;
    if (gated) {
      const { logger } = this.#options;
      logger.warn("A callback changes the arguments of a gated call; after a yes the tool will not run.", {
        tool: tool.name,
      });
      return undefined;
    }
    for (const name of Object.keys(args)) delete args[name];
    Object.assign(args, changed);
    const input = inputOf(tool, args);
    if (input.error) return input.error;
    if (await this.wantsApproval(tool, input, context, scope)) return { error: needsApproval };
    await this.show(tool, input, context, scope);
    return undefined;
  }

  /** Lets a free call run with the input that is shown. */
  bind(tool: BaseTool, input: CallInput, context: Context, scope: RunScope): Promise<Result | undefined> {
    return bindFreeCall(tool, input, context, {
      logger: this.#options.logger,
      isFree: async (changed) => !(await this.wantsApproval(tool, changed, context, scope)),
      show: (shown) => this.show(tool, shown, context, scope),
    });
  }

  /** Shows the input of a free call, unless it is what was shown with the call. A question has its own. */
  async show(
    { name: toolName }: BaseTool,
    input: CallInput,
    { functionCallId: toolCallId = "" }: Context,
    scope: RunScope,
  ): Promise<void> {
    if (input.isShown) return;
    await scope.showInput({ toolCallId, toolName, input: input.shown });
    input.isShown = true;
  }
}
