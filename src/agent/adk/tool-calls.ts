import {
  type BaseTool,
  Context,
  type Event,
  InvocationContext,
  isAgentTool,
  type LlmAgent,
  ToolConfirmation,
} from "@google/adk";
import { BridgeError } from "../../protocol/index.ts";
import type { Approval, JsonObject, Store } from "../../stores/index.ts";
import { describeError, type Logger } from "../support/index.ts";
import { agentOutcome } from "./agent-tool.ts";
import { findAgentTool } from "./agents.ts";
import { askGuards, questionOf } from "./ask-guards.ts";
import { bindTool } from "./bound-arguments.ts";
import { sessionArtifacts } from "./chat-artifacts.ts";
import { isClientTool } from "./client-tool.ts";
import { refuseCredentialRequest } from "./credential-requests.ts";
import { findCallTool } from "./find-call-tool.ts";
import { findTool, fromStore, ToolsAway } from "./find-tool.ts";
import type { GatePlugin } from "./gate-plugin.ts";
import { setIdempotencyKey } from "./idempotency-key.ts";
import { refuseChanged } from "./refuse-changed.ts";
import type { Runners } from "./runners.ts";
import { takeActions } from "./tool-actions.ts";
import { type Beginning, dropNonJsonState, mcpError, type ToolOutcome, toObject } from "./tool-result.ts";
import { inToolSpan } from "./tool-span.ts";

/** A call that is ready to run. */
export interface PreparedCall {
  /** Runs the tool. Never rejects: what a tool throws is an outcome. */
  run(): Promise<ToolOutcome | Beginning>;
}

interface PrepareOptions {
  signal?: AbortSignal;
  /** True when the gate has just found that no one needs to be asked about the call. */
  isJudged?: boolean;
}

/** Runs tools outside ADK's own loop, for calls in the ledger. */
export class ToolCalls {
  readonly #options: {
    runners: Runners;
    gate: Pick<GatePlugin, "pass" | "wantsApproval">;
    store: Store;
    logger: Logger;
  };

  constructor(options: {
    runners: Runners;
    gate: Pick<GatePlugin, "pass" | "wantsApproval">;
    store: Store;
    logger: Logger;
  }) {
    this.#options = options;
  }

  /**
   * Finds the tool and builds its context (K9, K13). Nothing has run when this throws; `ToolsAway` means that it may work
   * later. The tool gets `signal` as `toolContext.abortSignal`.
   */
  async prepare(approval: Approval, { signal, isJudged = false }: PrepareOptions = {}): Promise<PreparedCall> {
    const { agent, runner } = await this.#options.runners.hostOf(approval);
    const { appName, sessionService } = runner;
    const session = await fromStore(
      sessionService.getSession({ appName, userId: approval.owner, sessionId: approval.session }),
    );
    if (!session) throw new Error("The session of this call is gone.");
    const invocationContext = new InvocationContext({
      sessionService: runner.sessionService,
      ...(runner.artifactService && {
        artifactService: sessionArtifacts(runner.artifactService, {
          appName: runner.appName,
          userId: approval.owner,
          sessionId: approval.session,
        }),
      }),
      memoryService: runner.memoryService,
      credentialService: runner.credentialService,
      invocationId: `x-${approval.id}`,
      agent,
      branch: approval.branch,
      session,
      pluginManager: runner.pluginManager,
      runConfig: {},
      abortSignal: signal,
    });
    const tool = await findCallTool(agent, approval.toolName, invocationContext);
    if (isAgentTool(tool)) throw new Error("An agent that is called as a tool is run by its turn.");
    refuseChanged(approval, tool, agent.name);
    const context = new Context({
      invocationContext,
      functionCallId: approval.toolCallId,
      toolConfirmation: new ToolConfirmation({ confirmed: true, hint: approval.hint, payload: approval.payload }),
    });
    const args = JSON.parse(approval.rawInput ?? approval.input) as JsonObject;
    // Another version of the agent, or of its policies, may have made the call.
    if (!approval.gated && !isJudged && (await this.#options.gate.wantsApproval(tool, args, context, approval)))
      throw new Error(`The tool ${tool.name} needs an approval now, and this call has none; it was not run.`);
    this.#options.gate.pass(context);
    setIdempotencyKey(context, approval.idempotencyKey);
    const bound = bindTool(tool, approval);
    const traced = {
      runAsync: (request: RunRequest) => inToolSpan(tool, approval, async () => bound.runAsync(request)),
    };
    const call = { agent, tool, bound: traced, context, args };
    return { run: () => this.#run(approval, call) };
  }

  /** The result of an agent that ran as a tool, read from its session. */
  async readAgentOutcome(approval: Approval, innerSession: string): Promise<ToolOutcome> {
    const { agent } = await this.#options.runners.hostOf(approval);
    const tool = await findAgentTool(agent, approval.toolName);
    const events = await this.#options.store.events(innerSession);
    return agentOutcome(
      tool,
      events.map(({ event }) => event as unknown as Event),
    );
  }

  /**
   * True when the call's result comes from the page. The row says so. In rows of 0.1 the result may also come from a
   * long-running tool, so for those the tool is looked for.
   */
  async isClientCall(approval: Approval): Promise<boolean> {
    if (!approval.external || approval.innerSession !== undefined) return false;
    if (approval.toolHash !== undefined) return true;
    const { toolName, toolCallId } = approval;
    try {
      const { agent } = await this.#options.runners.hostOf(approval);
      return isClientTool(await findTool(agent, toolName));
    } catch (error) {
      if (error instanceof ToolsAway)
        throw new BridgeError(
          "unavailable",
          `The tool ${toolName} of call ${toolCallId} cannot be found now. Try again in a moment.`,
        );
      this.#options.logger.warn("The tool of a waiting call is gone.", {
        approval: approval.id,
        error: describeError(error),
      });
      return false;
    }
  }

  async #run(approval: Approval, call: Call): Promise<ToolOutcome | Beginning> {
    const { tool, context } = call;
    try {
      const result = await callTool(call, this.#options.logger);
      const noCredential = refuseCredentialRequest(context);
      if (noCredential) return { event: "fail", outcome: noCredential, ...this.#changes(approval, context) };
      if (questionOf(context)) throw new Error("The tool asked for a second approval, which is not supported.");
      if (tool.isLongRunning) {
        const interim = result == null ? {} : { interim: toObject(result) };
        return { event: "begin", ...interim, ...this.#changes(approval, context) };
      }
      const error = mcpError(result);
      const outcome = error === undefined ? toObject(result) : { error };
      const event = error === undefined ? "succeed" : "fail";
      return { event, outcome, ...this.#changes(approval, context) };
    } catch (error) {
      const outcome = { error: describeError(error) };
      return { event: "fail", outcome, ...this.#changes(approval, context) };
    }
  }

  /** What the tool changed and asked for beside its result. */
  #changes(approval: Approval, context: Context): Pick<ToolOutcome, "stateDelta" | "actions"> {
    const actions = takeActions(context);
    return { stateDelta: this.#stateDelta(approval, context), ...(actions && { actions }) };
  }

  /** The tool has run, so state that is not JSON must not keep its outcome from being recorded. */
  #stateDelta(approval: Approval, context: Context): JsonObject {
    const dropped = dropNonJsonState(context);
    if (dropped > 0)
      this.#options.logger.warn("State a tool set is not JSON and was dropped.", { approval: approval.id, dropped });
    return { ...context.actions.stateDelta };
  }
}

type RunRequest = Parameters<BaseTool["runAsync"]>[0];

interface Call {
  agent: LlmAgent;
  tool: BaseTool;
  /** The tool, bound to the approved arguments. */
  bound: Pick<BaseTool, "runAsync">;
  context: Context;
  args: JsonObject;
}

/** What a callback says that refuses a call. Any other value of a callback is the call's result. */
function onlyError(result: unknown): string | undefined {
  if (typeof result !== "object" || result === null || Object.keys(result).length !== 1) return undefined;
  return "error" in result && typeof result.error === "string" ? result.error : undefined;
}

/** The tool with the callbacks that ADK runs around it: first those of the plugins, then those of the agent. */
async function callTool({ agent, tool, bound, args, context }: Call, logger: Logger): Promise<unknown> {
  const { pluginManager } = context.invocationContext;
  const call = { tool, toolArgs: args, toolContext: context };
  let result = await askGuards({ agent, tool, args, context });
  const refusal = onlyError(result);
  if (refusal !== undefined) throw new Error(refusal);
  if (questionOf(context) && result != null)
    throw new Error("A callback asked for a second approval, which is not supported; the tool was not run.");
  // A callback that asks each time and lets the call pass has its approval.
  context.actions.requestedToolConfirmations = {};
  // ADK awaits what `runAsync` returns, so a tool in plain JavaScript need not return a promise.
  const run = async () => bound.runAsync({ args, toolContext: context });
  result ??= await run().catch(async (error: unknown) => {
    const handled = error instanceof Error ? await pluginManager.runOnToolErrorCallback({ ...call, error }) : undefined;
    if (handled == null) throw error;
    return handled;
  });
  const response = result as Record<string, unknown>;
  try {
    let altered: unknown = await pluginManager.runAfterToolCallback({ ...call, result: response });
    for (const callback of altered == null ? agent.canonicalAfterToolCallbacks : []) {
      altered = await callback({ tool, args, context, response });
      if (altered) break;
    }
    return altered ?? result;
  } catch (error) {
    // The tool has run, so a callback that throws afterwards must not turn its result into a failure.
    logger.error("A callback after a tool threw; the tool's own result is used.", {
      tool: tool.name,
      error: describeError(error),
    });
    return result;
  }
}
