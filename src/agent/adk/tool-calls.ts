import {
  type BaseTool,
  Context,
  type Event,
  InvocationContext,
  isAgentTool,
  type LlmAgent,
  ReadonlyContext,
  ToolConfirmation,
} from "@google/adk";
import { BridgeError } from "../../protocol/index.ts";
import type { Approval, JsonObject, Store } from "../../stores/index.ts";
import { describeError, type Logger, within } from "../support/index.ts";
import { agentOutcome } from "./agent-tool.ts";
import { findAgentTool, findOwnTool, findTool } from "./agents.ts";
import { bindTool } from "./bound-arguments.ts";
import { isClientTool } from "./client-tool.ts";
import type { GatePlugin } from "./gate-plugin.ts";
import { setIdempotencyKey } from "./idempotency-key.ts";
import type { Runners } from "./runners.ts";
import { dropNonJsonState, mcpError, type ToolOutcome, toObject } from "./tool-result.ts";

/** How long listing the tools of an agent may take. */
const listingMs = 10_000;

/** A call that is ready to run. */
export interface PreparedCall {
  /** Runs the tool. Undefined means that a long-running tool has begun and its result will be reported later. */
  run(): Promise<ToolOutcome | undefined>;
}

/** Runs tools outside ADK's own loop, for calls in the ledger. */
export class ToolCalls {
  readonly #options: { runners: Runners; gate: Pick<GatePlugin, "pass">; store: Store; logger: Logger };

  constructor(options: { runners: Runners; gate: Pick<GatePlugin, "pass">; store: Store; logger: Logger }) {
    this.#options = options;
  }

  /** Finds the tool and builds its context (K9, K13). Nothing has run when this throws. */
  async prepare(approval: Approval): Promise<PreparedCall> {
    const { agent, runner } = await this.#options.runners.hostOf(approval);
    const session = await runner.sessionService.getSession({
      appName: runner.appName,
      userId: approval.owner,
      sessionId: approval.session,
    });
    if (!session) throw new Error("The session of this call is gone.");
    const invocationContext = new InvocationContext({
      sessionService: runner.sessionService,
      memoryService: runner.memoryService,
      credentialService: runner.credentialService,
      invocationId: `x-${approval.id}`,
      agent,
      branch: approval.branch,
      session,
      pluginManager: runner.pluginManager,
      runConfig: {},
    });
    const tool = await findTool(agent, approval.toolName, new ReadonlyContext(invocationContext));
    if (isAgentTool(tool)) throw new Error("An agent that is called as a tool is run by its turn.");
    const context = new Context({
      invocationContext,
      functionCallId: approval.toolCallId,
      toolConfirmation: new ToolConfirmation({ confirmed: true, hint: approval.hint, payload: approval.payload }),
    });
    this.#options.gate.pass(context);
    setIdempotencyKey(context, approval.idempotencyKey);
    const args = JSON.parse(approval.rawInput ?? approval.input) as JsonObject;
    const call = { agent, tool, bound: bindTool(tool, approval), context, args };
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
   * True when the call's result comes from the page. False also when its tool is gone. A chat waits for this, so toolsets
   * are listed only for a tool that the agent does not have itself, and for a limited time.
   */
  async isClientCall(approval: Approval): Promise<boolean> {
    if (!approval.external || approval.innerSession !== undefined) return false;
    const { toolName, toolCallId } = approval;
    const find = async () => {
      const { agent } = await this.#options.runners.hostOf(approval);
      return findOwnTool(agent, toolName) ?? findTool(agent, toolName);
    };
    const away = () => {
      const message = `The tool ${toolName} of call ${toolCallId} cannot be found now. Try again in a moment.`;
      return new BridgeError("unavailable", message);
    };
    try {
      return isClientTool(await within(listingMs, find(), away));
    } catch (error) {
      if (error instanceof BridgeError) throw error;
      this.#options.logger.warn("The tool of a waiting call is gone.", {
        approval: approval.id,
        error: describeError(error),
      });
      return false;
    }
  }

  async #run(approval: Approval, call: Call): Promise<ToolOutcome | undefined> {
    const { tool, context } = call;
    try {
      const result = await callTool(call, this.#options.logger);
      if (approval.toolCallId in context.actions.requestedToolConfirmations)
        throw new Error("The tool asked for a second approval, which is not supported.");
      if (tool.isLongRunning && result == null) return undefined;
      const error = mcpError(result);
      const outcome = error === undefined ? toObject(result) : { error };
      const event = error === undefined ? "succeed" : "fail";
      return { event, outcome, stateDelta: this.#stateDelta(approval, context) };
    } catch (error) {
      const outcome = { error: describeError(error) };
      return { event: "fail", outcome, stateDelta: this.#stateDelta(approval, context) };
    }
  }

  /** The tool has run, so state that is not JSON must not keep its outcome from being recorded. */
  #stateDelta(approval: Approval, context: Context): JsonObject {
    const dropped = dropNonJsonState(context);
    if (dropped > 0)
      this.#options.logger.warn("State a tool set is not JSON and was dropped.", { approval: approval.id, dropped });
    return { ...context.actions.stateDelta };
  }
}

interface Call {
  agent: LlmAgent;
  tool: BaseTool;
  /** The tool, bound to the approved arguments. */
  bound: Pick<BaseTool, "runAsync">;
  context: Context;
  args: JsonObject;
}

/** The tool with the callbacks that ADK runs around it: first those of the plugins, then those of the agent. */
async function callTool({ agent, tool, bound, args, context }: Call, logger: Logger): Promise<unknown> {
  const { pluginManager } = context.invocationContext;
  const call = { tool, toolArgs: args, toolContext: context };
  let result: unknown = await pluginManager.runBeforeToolCallback(call);
  for (const callback of result == null ? agent.canonicalBeforeToolCallbacks : []) {
    result = await callback({ tool, args, context });
    if (result) break;
  }
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
