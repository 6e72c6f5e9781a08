import {
  type BaseTool,
  BasePlugin,
  type Context,
  type Event,
  type LlmRequest,
  type LlmResponse,
  generateClientFunctionCallId,
  isAgentTool,
  isFunctionTool,
} from "@google/adk";
import type { GenerateContentResponseUsageMetadata } from "@google/genai";
import { actionDigest, BridgeError, canonicalJson } from "../protocol/index.ts";
import type { Approval, NewApproval, Store } from "../stores/index.ts";
import { isClientTool } from "./client-tool.ts";
import { callsOf } from "./history.ts";
import { newId } from "./ids.ts";
import { describeError, type Logger } from "./logger.ts";
import type { ToolPolicies } from "./tool-policy.ts";

/**
 * The gate: one ADK plugin in front of every tool. It never runs a gated tool and never asks ADK for a confirmation; it
 * *holds* the call. Held means: a row in the ledger, a placeholder instead of the tool's result, the placeholder taken
 * out of the event again, and no further model call in this run. The ledger decides, the executor runs, the turn delivers.
 *
 * What it relies on in ADK is listed in docs/design/approval.md as K1–K14, each with a contract test.
 */
export class Gate extends BasePlugin {
  readonly #options: GateOptions;
  /** The run each session is in. A call outside a run of ours fails closed. */
  readonly #runs = new Map<string, Run>();
  /** Contexts of the executor's own calls, which pass. */
  readonly #passing = new WeakSet<Context>();
  readonly #sawCall = new WeakSet<object>();

  constructor(options: GateOptions) {
    super("adk-stream-protocol-gate");
    this.#options = options;
  }

  enter(sessionId: string, run: Run): () => void {
    this.#runs.set(sessionId, run);
    return () => this.#runs.get(sessionId) === run && this.#runs.delete(sessionId);
  }

  pass(context: Context): void {
    this.#passing.add(context);
  }

  /** Returning an object skips the tool and `FunctionTool`'s own gate (K1); `undefined` runs it. */
  override async beforeToolCallback({ tool, toolArgs, toolContext }: ToolCallback): Promise<Result | undefined> {
    if (this.#passing.has(toolContext)) return undefined;
    const gated = await this.#isGated(tool, toolArgs, toolContext);
    if (typeof gated !== "boolean") return gated;
    if (isAgentTool(tool)) return this.#holdAgentTool(tool, toolArgs, toolContext, gated);
    if (!gated && !isClientTool(tool)) return undefined;
    return invalidArguments(tool, toolArgs) ?? this.#hold(tool, toolArgs, toolContext, { gated, external: isClientTool(tool) });
  }

  /** The first plugin's value keeps every other after-callback away from a call that has not run (K14). */
  override async afterToolCallback({ tool, toolArgs, toolContext, result }: ToolCallback & { result: Result }) {
    if (this.#passing.has(toolContext)) return undefined;
    if (isPlaceholder(result)) return result;
    const asked = toolContext.actions.requestedToolConfirmations;
    const id = toolContext.functionCallId ?? "";
    const request = asked[id];
    if (request) {
      delete asked[id]; // K8: nothing left for ADK to ask about
      const { hint, payload } = request;
      return this.#hold(tool, toolArgs, toolContext, { gated: true, external: false, hint, payload });
    }
    if (tool.isLongRunning && result == null)
      return this.#hold(tool, toolArgs, toolContext, { gated: false, external: true });
    return undefined;
  }

  /** In place: what is left in the event is what is stored, yielded and sent (K3). */
  override async onEventCallback({ event }: { event: Event }): Promise<undefined> {
    const parts = event.content?.parts;
    if (!parts?.some((part) => isPlaceholder(part.functionResponse?.response))) return undefined;
    const kept = parts.filter((part) => !isPlaceholder(part.functionResponse?.response));
    event.customMetadata = { ...event.customMetadata, kept };
    event.content = undefined;
    return undefined;
  }

  /** `{}` ends the step for this agent, its parents and its later siblings: no event, no request (K4). */
  override async beforeModelCallback({ callbackContext, llmRequest }: { callbackContext: Context; llmRequest: LlmRequest }) {
    const { session } = callbackContext.invocationContext;
    if (this.#runs.get(session.id)?.paused) return {};
    // An agent without contents (`includeContents: "none"`) resumes at its own call; a request begins with the user.
    if (llmRequest.contents[0]?.role === "model") {
      const asked = session.events.findLast(({ author, content }) => author === "user" && content?.parts?.[0]?.text);
      if (asked?.content) llmRequest.contents.unshift(structuredClone(asked.content));
    }
    return undefined;
  }

  override async afterModelCallback({ callbackContext, llmResponse }: { callbackContext: Context; llmResponse: LlmResponse }) {
    const { invocationContext } = callbackContext;
    const parts = llmResponse.content?.parts ?? [];
    if (parts.some((part) => part.functionCall)) {
      this.#sawCall.add(invocationContext);
      renameRepeatedCalls(parts, invocationContext.session.events);
      return undefined;
    }
    // The usage-only response behind a call makes ADK ask the model again after a transfer or a long-running call (K11).
    if (!llmResponse.content && llmResponse.usageMetadata && !llmResponse.errorCode && this.#sawCall.delete(invocationContext)) {
      this.#runs.get(invocationContext.session.id)?.onUsage(llmResponse.usageMetadata);
      return { ...llmResponse, usageMetadata: undefined };
    }
    return undefined;
  }

  /** True, false, or an error to answer with. A check that cannot be made is a yes: it fails closed. */
  async #isGated(tool: BaseTool, args: Args, context: Context): Promise<boolean | Result> {
    const confirm = this.#options.tools.get(tool.name)?.confirm;
    if (confirm === true) return true;
    try {
      if (await confirm?.(args)) return true;
    } catch (error) {
      this.#options.logger.warn("The policy of a tool threw; its call is held.", { tool: tool.name, error: describeError(error) });
      return true;
    }
    try {
      return await tool.checkRequireConfirmation(args, context);
    } catch (error) {
      // A `FunctionTool` evaluates its predicate on validated arguments: this is the model's mistake, and it may correct it.
      return isFunctionTool(tool) ? { error: `Error in tool '${tool.name}': ${describeError(error)}` } : true;
    }
  }

  /** ADK runs an agent's tool in a Runner without plugins (K10): we run it ourselves, and hold the call while it waits. */
  async #holdAgentTool(tool: BaseTool, args: Args, context: Context, gated: boolean): Promise<Result> {
    const innerSession = `${context.sessionId}~${context.functionCallId}`;
    return this.#hold(tool, args, context, { gated, external: true, innerSession }, async (approval, run) =>
      gated ? undefined : run.runInner(approval),
    );
  }

  async #hold(
    tool: BaseTool,
    args: Args,
    context: Context,
    how: Pick<NewApproval, "gated" | "external" | "hint" | "payload" | "innerSession">,
    settleNow?: (approval: Approval, run: Run) => Promise<Result | undefined>,
  ): Promise<Result> {
    const { store, logger, tools } = this.#options;
    let approval: Approval | undefined;
    try {
      const run = this.#runs.get(context.sessionId);
      if (!run) throw new Error("The call belongs to no turn.");
      const { agent, branch } = context.invocationContext;
      const call = { toolCallId: context.functionCallId ?? "", toolName: tool.name };
      const input = canonicalJson(args);
      const id = newId("apr");
      approval = await store.createApproval(
        {
          ...how,
          ...call,
          id,
          input,
          chat: run.chat,
          session: context.sessionId,
          owner: run.owner,
          messageId: run.messageId,
          agent: agent?.name ?? "",
          branch,
          digest: await actionDigest({ approvalId: id, owner: run.owner, chat: run.chat, ...call, input: args }),
          effect: tools.get(tool.name)?.effect ?? "opaque",
          state: how.gated ? "pending" : "approved",
          ttlMs: this.#options.approvalTtlMs,
          startMs: how.external ? this.#options.approvalTtlMs : this.#options.startMs,
        },
        { maxPending: this.#options.maxPending },
      );
      const result = await settleNow?.(approval, run);
      if (result) return result;
      run.paused = true;
      await run.onHeld(approval);
      return placeholder(approval.id);
    } catch (error) {
      logger.error("A call could not be held; the tool was not run.", { tool: tool.name, error: describeError(error) });
      if (approval) await store.move(approval.id, { event: "cancel", reason: "The call could not be shown." });
      const why = error instanceof BridgeError ? error.message : "Approval is not available.";
      return { error: `${why} The tool was not run.` };
    }
  }
}

export interface GateOptions {
  store: Store;
  tools: ToolPolicies;
  approvalTtlMs: number;
  startMs: number;
  maxPending: number;
  logger: Logger;
}

/** What the gate must know of the run a call belongs to. */
export interface Run {
  chat: string;
  owner: string;
  messageId: string;
  /** Set by the gate: the run ends without asking the model again. */
  paused: boolean;
  onHeld(approval: Approval): Promise<void>;
  onUsage(usage: GenerateContentResponseUsageMetadata): void;
  /** Runs an agent's tool until it is done (its result) or waits for a person (undefined). */
  runInner(approval: Approval): Promise<Result | undefined>;
}

type Args = Record<string, unknown>;
type Result = Record<string, unknown>;
interface ToolCallback {
  tool: BaseTool;
  toolArgs: Args;
  toolContext: Context;
}

const placeholderKey = `held-${crypto.randomUUID()}`;
const placeholder = (approvalId: string): Result => ({ [placeholderKey]: approvalId });
const isPlaceholder = (result: unknown): boolean =>
  typeof result === "object" && result !== null && placeholderKey in result;

/** A person is not asked about arguments the tool would refuse anyway. */
function invalidArguments(tool: BaseTool, args: Args): Result | undefined {
  const { validateArgs } = tool as BaseTool & { validateArgs?: (args: Args) => unknown };
  if (!isFunctionTool(tool) || typeof validateArgs !== "function") return undefined;
  try {
    validateArgs.call(tool, args);
    return undefined;
  } catch (error) {
    return { error: `Error in tool '${tool.name}': ${describeError(error)}` };
  }
}

/** A model may count its calls from one in every turn; a session needs each id once. */
function renameRepeatedCalls(parts: NonNullable<NonNullable<LlmResponse["content"]>["parts"]>, events: Event[]): void {
  const used = new Set(events.flatMap(callsOf).map(({ id }) => id));
  for (const { functionCall } of parts) {
    if (!functionCall?.id) continue;
    if (used.has(functionCall.id)) functionCall.id = generateClientFunctionCallId();
    used.add(functionCall.id);
  }
}
