import type { BaseTool, Context } from "@google/adk";
import type { Logger } from "../support/index.ts";
import { refusalOf } from "./ask-guards.ts";
import { bindFreeCall } from "./bind-free-call.ts";
import { argumentsError, type CallInput } from "./call-input.ts";
import type { CallHolder, RunScope } from "./run-scope.ts";
import { toolWantsApproval } from "./tool-checks.ts";

type Result = Record<string, unknown>;

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
    scope: RunScope,
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
  refusal(tool: BaseTool, input: CallInput, context: Context): Promise<Result | undefined> {
    return refusalOf({ tool, input, context }, this.#options);
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
