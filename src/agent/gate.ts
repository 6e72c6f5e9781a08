import {
  type BaseTool,
  BasePlugin,
  type Context,
  createEvent,
  type Event,
  Gemini,
  generateClientFunctionCallId,
  type InvocationContext,
  isAgentTool,
  isFunctionTool,
  isLlmAgent,
  isLoopAgent,
  type LlmRequest,
  type LlmResponse,
  StreamingMode,
} from "@google/adk";
import type { FunctionCall, Part } from "@google/genai";
import { actionDigest, BridgeError, canonicalJson, isSettled } from "../protocol/index.ts";
import type { Approval, NewApproval, Store } from "../stores/index.ts";
import { isClientTool } from "./client-tool.ts";
import { callsOf, openCalls, orderResponses } from "./history.ts";
import { newId } from "./ids.ts";
import { isAskedLive, noteHandover } from "./live-notices.ts";
import { describeError, type Logger } from "./logger.ts";
import { MissingTool, offerMissing } from "./missing-tool.ts";
import { approvalToResponse } from "./outcome.ts";
import type { ToolPolicies } from "./tool-policy.ts";
import { dropUnwritable, needsWriting, toObject } from "./tool-result.ts";

/**
 * The gate: one ADK plugin in front of every tool. It never runs a gated tool and never asks ADK for a confirmation; it
 * *holds* the call. Held means: a row in the ledger, a placeholder instead of the tool's result, the placeholder taken
 * out of the event again, and no further model call in this run. The ledger decides, the executor runs, the turn delivers.
 *
 * What it relies on in ADK is listed in docs/design/approval.md as K1–K18, each with a contract test. Responses are
 * changed in place and not returned, so that the callbacks of other plugins and of the agent see them too.
 */
export class Gate extends BasePlugin {
  readonly #options: GateOptions;
  /** The runs that are about to begin, by their session. */
  readonly #entered = new Map<string, Scope>();
  /**
   * The run that an ADK session object belongs to (K18). Not by the session's id: a run that was broken off may go on
   * calling when the next one of the same session has begun. A call outside a run of ours fails closed.
   */
  readonly #scopes = new WeakMap<object, Scope>();
  /** Contexts of the executor's own calls, which pass. */
  readonly #passing = new WeakSet<Context>();
  /** What the tool of a call threw. */
  readonly #failures = new WeakMap<Context, Error>();
  /** What the model is saying to each agent right now. */
  readonly #answers = new WeakMap<InvocationContext, ModelAnswer>();

  constructor(options: GateOptions) {
    super("adk-stream-protocol-gate");
    this.#options = options;
  }

  enter(sessionId: string, run: Run): () => void {
    const scope: Scope = { run, answers: [], isOver: false };
    this.#entered.set(sessionId, scope);
    return () => {
      scope.isOver = true;
      if (this.#entered.get(sessionId) === scope) this.#entered.delete(sessionId);
      if (scope.answers.some(({ calls }) => calls.length > 0))
        this.#options.logger.warn("A model's answer broke off; its calls were dropped.", { session: sessionId });
    };
  }

  override async beforeRunCallback({
    invocationContext,
  }: {
    invocationContext: InvocationContext;
  }): Promise<undefined> {
    const { session } = invocationContext;
    const scope = this.#entered.get(session.id);
    if (!scope) return;
    this.#scopes.set(session, scope);
    scope.run.onBegin?.(invocationContext);
  }

  #scopeOf({ session }: InvocationContext): Scope | undefined {
    return this.#scopes.get(session);
  }

  #isStopped({ invocationContext }: Context): boolean {
    const scope = this.#scopeOf(invocationContext);
    return invocationContext.abortSignal?.aborted || !scope || scope.isOver || (scope.run.isStopped?.() ?? false);
  }

  pass(context: Context): void {
    this.#passing.add(context);
  }

  /** Returning an object skips the tool and `FunctionTool`'s own gate (K1); `undefined` runs it. */
  override async beforeToolCallback({ tool, toolArgs, toolContext }: ToolCallback): Promise<Result | undefined> {
    if (this.#passing.has(toolContext)) return undefined;
    if (tool instanceof MissingTool) return tool.runAsync();
    if (this.#isStopped(toolContext)) return { error: "The turn was stopped; the tool was not run." };
    const gated = await this.#isGated(tool, toolArgs, toolContext);
    if (typeof gated !== "boolean") return gated;
    // ADK runs an agent's tool in a Runner without plugins (K10): we run it ourselves, and hold the call while it waits.
    if (isAgentTool(tool)) {
      const innerSession = `${toolContext.sessionId}~${toolContext.functionCallId}`;
      return this.#hold(tool, toolArgs, toolContext, { gated, external: true, innerSession });
    }
    if (!gated && !isClientTool(tool)) return undefined;
    return (
      invalidArguments(tool, toolArgs) ??
      this.#hold(tool, toolArgs, toolContext, { gated, external: isClientTool(tool) })
    );
  }

  /** A throw overrides whatever `afterToolCallback` returns (K16): such a call is answered, and must not be held. */
  override async onToolErrorCallback({
    toolContext,
    error,
  }: {
    toolContext: Context;
    error: Error;
  }): Promise<undefined> {
    this.#failures.set(toolContext, error);
  }

  /** The first plugin's value keeps every other after-callback away from a call that has not run (K14). */
  override async afterToolCallback({ tool, toolArgs, toolContext, result }: ToolCallback & { result: Result }) {
    if (this.#passing.has(toolContext)) return undefined;
    if (isPlaceholder(result)) return result;
    const asked = toolContext.actions.requestedToolConfirmations;
    const id = toolContext.functionCallId ?? "";
    const request = asked[id];
    delete asked[id]; // K8: nothing left for ADK to ask about
    const failure = this.#failures.get(toolContext);
    // ADK would wait for a long-running tool that has thrown as for one that has begun.
    if (failure) return tool.isLongRunning ? { error: failure.message } : undefined;
    if (request) {
      const { hint, payload } = request;
      return this.#hold(tool, toolArgs, toolContext, { gated: true, external: false, hint, payload });
    }
    if (tool.isLongRunning && result == null)
      return this.#hold(tool, toolArgs, toolContext, { gated: false, external: true });
    if (dropUnwritable(toolContext) > 0)
      this.#options.logger.warn("State a tool left could not be written as JSON.", { tool: tool.name });
    return needsWriting(result) ? toObject(result) : undefined;
  }

  /** In place: what is left in the event is what is stored, yielded and sent (K3). */
  override async onEventCallback({
    invocationContext,
    event,
  }: {
    invocationContext: InvocationContext;
    event: Event;
  }): Promise<undefined> {
    const scope = this.#scopeOf(invocationContext);
    if (!event.partial) await scope?.run.onEvent();
    noteHandover(event);
    const parts = event.content?.parts;
    // By what it is and not by who is there: a placeholder must not get through when its run has been left meanwhile.
    const isHeld = ({ functionResponse }: Part) => isPlaceholder(functionResponse?.response);
    if (!parts?.some(isHeld)) return undefined;
    const kept = parts.filter((part) => !isHeld(part));
    // Live, what is left in the event is sent to the model at once; otherwise the whole step waits for the held calls.
    event.customMetadata = { ...event.customMetadata, kept: scope?.run.live ? [] : kept };
    event.content = scope?.run.live && kept.length > 0 ? { ...event.content, parts: kept } : undefined;
    return undefined;
  }

  /** `{}` ends the step for this agent, its parents and its later siblings: no event, no request (K4). */
  override async beforeModelCallback({
    callbackContext,
    llmRequest,
  }: {
    callbackContext: Context;
    llmRequest: LlmRequest;
  }) {
    const { invocationContext } = callbackContext;
    const { session } = invocationContext;
    const scope = this.#scopeOf(invocationContext);
    if (scope?.run.paused || hasBrokenOff(session.events)) {
      if (!isInLoop(invocationContext)) return {};
      // Nothing at all would send a loop round for ever; this event tells it to end.
      callbackContext.actions.escalate = true;
      return { interrupted: true };
    }
    const refusal = scope?.run.onRequest?.();
    if (refusal !== undefined) return { errorCode: "TOO_MANY_CALLS", errorMessage: refusal };
    const answer: ModelAnswer = { tools: llmRequest.toolsDict, calls: [], called: false, held: false };
    this.#answers.set(invocationContext, answer);
    scope?.answers.push(answer);
    orderResponses(llmRequest.contents);
    // An agent without contents (`includeContents: "none"`) resumes at its own call; a request begins with the user.
    if (llmRequest.contents[0]?.role === "model") {
      const asked = session.events.findLast(({ author, content }) => author === "user" && content?.parts?.[0]?.text);
      if (asked?.content) llmRequest.contents.unshift(structuredClone(asked.content));
    }
    return undefined;
  }

  /**
   * Gathers the calls of one answer into one event, because ADK runs the tools of each streamed chunk by itself (K15), and
   * a held call must be in the same step as its siblings.
   */
  override async afterModelCallback({
    callbackContext,
    llmResponse,
  }: {
    callbackContext: Context;
    llmResponse: LlmResponse;
  }) {
    const { invocationContext } = callbackContext;
    const answer = this.#answers.get(invocationContext);
    if (!answer || llmResponse.partial) return undefined;
    const parts = llmResponse.content?.parts ?? [];
    const calls = parts.filter((part) => part.functionCall);
    const others = parts.filter((part) => !part.functionCall);
    if (calls.length > 0) {
      await this.#adopt(calls, answer, invocationContext);
      answer.called = true;
      answer.calls.push(...calls);
    }
    if (answer.held && answer.calls.splice(0).length > 0) {
      this.#options.logger.warn("Calls behind a held one were dropped.", { session: invocationContext.session.id });
      llmResponse.content = others.length > 0 ? { ...llmResponse.content, parts: others } : undefined;
    } else if (calls.length > 0 && hasEnding(invocationContext, llmResponse)) {
      llmResponse.content = others.length > 0 ? { ...llmResponse.content, parts: others } : undefined;
      llmResponse.usageMetadata = undefined; // the last response has it
    } else if (answer.calls.length > 0) {
      llmResponse.content = { role: "model", parts: [...others, ...answer.calls.splice(0)] };
    }
    // The usage-only response behind a call makes ADK ask the model again after a transfer or a long-running call (K11).
    if (answer.called && !llmResponse.content && !llmResponse.errorCode)
      this.#takeUsage(invocationContext, llmResponse);
    return undefined;
  }

  /** Reports usage that will be in no event: alone, it would make one. */
  #takeUsage(invocationContext: InvocationContext, llmResponse: LlmResponse): void {
    const { invocationId, agent, branch } = invocationContext;
    const { usageMetadata } = llmResponse;
    if (!usageMetadata) return;
    this.#scopeOf(invocationContext)?.run.onUsage(
      createEvent({ invocationId, author: agent?.name, branch, usageMetadata }),
    );
    llmResponse.usageMetadata = undefined;
  }

  /** Makes a model's calls ones that can be answered: each id once in a chat, each name a tool's. */
  async #adopt(
    calls: readonly Part[],
    { tools, calls: gathered }: ModelAnswer,
    invocationContext: InvocationContext,
  ): Promise<void> {
    const { session } = invocationContext;
    const used = new Set(session.events.flatMap(callsOf).map(({ id }) => id));
    for (const { functionCall } of gathered) if (functionCall?.id) used.add(functionCall.id);
    // A reply that is made again has left the history, its approvals have not left the ledger.
    if (calls.some(({ functionCall }) => functionCall?.id))
      for (const { toolCallId } of await this.#options.store.listApprovals({ session: session.id }))
        used.add(toolCallId);
    const isInner = this.#scopeOf(invocationContext)?.run.chat !== session.id;
    for (const { functionCall: call } of calls as readonly { functionCall: FunctionCall }[]) {
      // A model may count its calls from one in every turn, and in every agent that is run as a tool.
      if (call.id && (isInner || used.has(call.id))) call.id = generateClientFunctionCallId();
      if (call.id) used.add(call.id);
    }
    offerMissing(
      calls.flatMap(({ functionCall }) => functionCall ?? []),
      tools,
    );
  }

  /** True, false, or an error to answer with. A check that cannot be made is a yes: it fails closed. */
  async #isGated(tool: BaseTool, args: Args, context: Context): Promise<boolean | Result> {
    const confirm = this.#options.tools.get(tool.name)?.confirm;
    if (confirm === true) return true;
    try {
      if (await confirm?.(args)) return true;
    } catch (error) {
      this.#options.logger.warn("The policy of a tool threw; its call is held.", {
        tool: tool.name,
        error: describeError(error),
      });
      return true;
    }
    try {
      // Whatever a predicate takes for a yes: one in plain JavaScript need not say `true`.
      if (await tool.checkRequireConfirmation(args, context)) return true;
    } catch (error) {
      // A `FunctionTool` evaluates its predicate on validated arguments: this is the model's mistake, and it may correct it.
      return isFunctionTool(tool) ? { error: `Error in tool '${tool.name}': ${describeError(error)}` } : true;
    }
    return false;
  }

  async #hold(tool: BaseTool, args: Args, context: Context, how: Held): Promise<Result> {
    const { store, logger } = this.#options;
    let approval: Approval | undefined;
    try {
      const scope = this.#scopeOf(context.invocationContext);
      // ADK goes through all calls of a step whatever happens, and another turn may have entered meanwhile.
      if (!scope || this.#isStopped(context)) throw new Error("The call belongs to no turn.");
      const { run } = scope;
      approval = await this.#createRow(tool, args, context, how, run);
      const settled = how.innerSession !== undefined && !how.gated ? await run.runInner(approval) : undefined;
      if (settled) {
        await store.markTold(settled.id);
        context.state.update(settled.stateDelta ?? {});
        return approvalToResponse(settled) ?? {};
      }
      await run.onHeld(approval);
      run.paused = true;
      const answer = this.#answers.get(context.invocationContext);
      if (answer) answer.held = true;
      return placeholder(approval.id);
    } catch (error) {
      logger.error("A call could not be held.", { tool: tool.name, error: describeError(error) });
      if (approval) await this.#giveUp(approval);
      const why = error instanceof BridgeError ? error.message : "Approval is not available.";
      return { error: how.innerSession ? "The agent could not finish." : `${why} The tool was not run.` };
    }
  }

  async #createRow(tool: BaseTool, args: Args, context: Context, how: Held, run: Run): Promise<Approval> {
    const { store, tools, approvalTtlMs, startMs, maxPending } = this.#options;
    const { agent, branch } = context.invocationContext;
    const call = { toolCallId: context.functionCallId ?? "", toolName: tool.name };
    const input = canonicalJson(args);
    const id = newId("apr");
    const row = await store.createApproval(
      {
        ...how,
        ...call,
        id,
        input,
        chat: run.chat,
        session: context.sessionId,
        owner: run.owner,
        messageId: run.messageId(),
        agent: agent?.name ?? "",
        branch,
        mode: isAskedLive({ toolCallId: call.toolCallId, session: context.sessionId }) ? "live" : "request",
        digest: await actionDigest({ approvalId: id, owner: run.owner, chat: run.chat, ...call, input: args }),
        effect: tools.get(tool.name)?.effect ?? "opaque",
        state: how.gated ? "pending" : "approved",
        ttlMs: approvalTtlMs,
        startMs: startSpan(how, { approvalTtlMs, startMs }),
      },
      { maxPending },
    );
    // A row that was there stands for a call with this id. If it is not this very call, nobody is asked and nothing runs.
    if (row.id !== id && (row.input !== input || row.toolName !== tool.name || isSettled(row.state)))
      throw new BridgeError(
        "conflict",
        `The id ${call.toolCallId} belongs to another call of ${row.toolName} already.`,
      );
    return row;
  }

  async #giveUp(approval: Approval): Promise<void> {
    const { store, logger } = this.#options;
    try {
      await store.move(approval.id, { event: "cancel", reason: "The call could not be shown." });
      await store.markTold(approval.id);
    } catch (error) {
      logger.error("A call that could not be held could not be cancelled.", {
        approval: approval.id,
        error: describeError(error),
      });
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
  /** The assistant message that shows the run's calls now. */
  messageId(): string;
  /** Set by the gate: the run ends without asking the model again. */
  paused: boolean;
  /** A live run does not end at a held call: it goes on, and so do the results of the calls beside it. */
  live?: boolean;
  /** True where calls are refused because nobody listens to the run any more. */
  isStopped?(): boolean;
  onBegin?(invocation: InvocationContext): void;
  /** Comes before each whole event is stored: what the history has must have been shown, or a crash would lose it. */
  onEvent(): Promise<void>;
  onHeld(approval: Approval): Promise<void>;
  /** Comes before each request to the model; a sentence refuses it. */
  onRequest?(): string | undefined;
  /** Usage that comes in no event of the run, as an event of its own. */
  onUsage(event: Event): void;
  /** Runs an agent's tool until it is done (its row, settled) or waits for a person (undefined). */
  runInner(approval: Approval): Promise<Approval | undefined>;
}

interface Scope {
  run: Run;
  /** It has been left; whatever still comes from it comes too late. */
  isOver: boolean;
  answers: ModelAnswer[];
}

/** One answer of a model, from its request to its last response. */
interface ModelAnswer {
  /** The tools of the request, where ADK looks for the ones that are called (K17). */
  tools: LlmRequest["toolsDict"];
  /** Calls that wait for the answer's last response. */
  calls: Part[];
  called: boolean;
  held: boolean;
}

type Held = Pick<NewApproval, "gated" | "external" | "hint" | "payload" | "innerSession">;
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

/** How long after a yes a call may start. An agent waits as long as its own calls do, and they expire by themselves. */
function startSpan(
  { external, innerSession }: Held,
  { approvalTtlMs, startMs }: { approvalTtlMs: number; startMs: number },
): number {
  if (innerSession !== undefined) return Number.POSITIVE_INFINITY;
  return external ? approvalTtlMs : startMs;
}

/** True where a response with calls is certain to be followed by another: the class sends what it counted at the end (K15). */
function hasEnding({ agent, runConfig }: InvocationContext, { usageMetadata }: LlmResponse): boolean {
  if (runConfig?.streamingMode !== StreamingMode.SSE || !usageMetadata || !isLlmAgent(agent)) return false;
  const { canonicalModel } = agent;
  return canonicalModel instanceof Gemini && !canonicalModel.useInteractionsApi;
}

/**
 * True where the last step ended in an error and left calls without a response, because a callback around a tool threw.
 * ADK would ask the model again, which no model takes: the error that counts is the one before.
 */
function hasBrokenOff(events: readonly Event[]): boolean {
  return events.at(-1)?.errorCode !== undefined && openCalls(events).length > 0;
}

function isInLoop({ agent }: InvocationContext): boolean {
  for (let parent = agent?.parentAgent; parent; parent = parent.parentAgent) if (isLoopAgent(parent)) return true;
  return false;
}

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
