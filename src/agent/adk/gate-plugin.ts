import {
  BasePlugin,
  type BaseTool,
  type Context,
  type Event,
  type InvocationContext,
  isAgentTool,
  type LlmRequest,
  type LlmResponse,
} from "@google/adk";
import type { Part } from "@google/genai";
import { BridgeError } from "../../protocol/index.ts";
import type { Approval } from "../../stores/index.ts";
import { describeError, type Logger } from "../support/index.ts";
import { isInLoop } from "./agents.ts";
import { refusalOf } from "./ask-guards.ts";
import { bindFreeCall } from "./bind-free-call.ts";
import { argumentsError, attachInputs, type CallInput, inputOf } from "./call-input.ts";
import { isClientTool } from "./client-tool.ts";
import { describeCall } from "./describe-call.ts";
import { addMetadata, type KeptPart } from "./event-metadata.ts";
import { EnteredRun } from "./entered-run.ts";
import { GatheredCalls } from "./gathered-calls.ts";
import { hasBrokenOff, isReserved } from "./history.ts";
import { noteHandover } from "./live/handover.ts";
import { isPlaceholder, markAsBegun, placeholder, takeBegun } from "./marked-results.ts";
import { MissingTool } from "./missing-tool.ts";
import { beginWithUser, orderResponses } from "./request-contents.ts";
import type { CallHolder, HeldCall, RunScope } from "./run-scope.ts";
import { invalidArguments, toolWantsApproval } from "./tool-checks.ts";
import { dropNonJsonState, needsConversion, toObject } from "./tool-result.ts";

/**
 * The gate: one ADK plugin that sees every tool call before the tool. It never runs a gated tool and never uses ADK's own
 * confirmation. It *holds* the call: it creates a row in the ledger, gives ADK a placeholder as the tool's result, removes
 * the placeholder from the event again, and lets the run make no further model request. A person decides on the row, the
 * executor runs the call, and the conversation gives the outcome to the model.
 *
 * What it relies on in ADK is listed in docs/design/adk.md (K1 and so on), each with a contract test. Responses are
 * changed in place and not returned, so that the callbacks of other plugins and of the agent see them too.
 */
export class GatePlugin extends BasePlugin {
  readonly #holder: CallHolder;
  readonly #logger: Logger;
  /** Runs that are about to begin, by session id. */
  readonly #entered = new Map<string, EnteredRun>();
  /**
   * Runs by their ADK session object (K18). Session ids do not identify a run: an abandoned run may still make calls after
   * the next run of the same session has begun. A call outside a known run is refused.
   */
  readonly #runs = new WeakMap<object, EnteredRun>();
  /** Contexts of calls that the executor makes; these calls were approved and pass. */
  readonly #approved = new WeakSet<Context>();
  /** What the tool of a call threw. */
  readonly #failures = new WeakMap<Context, Error>();
  /** Contexts of calls that ran in the ledger. The callbacks after the tool have run there. */
  readonly #ran = new WeakSet<Context>();
  /** The calls of each model response while it is streamed. */
  readonly #gathered = new WeakMap<InvocationContext, GatheredCalls>();

  constructor({ holder, logger }: { holder: CallHolder; logger: Logger }) {
    super("adk-stream-protocol-gate");
    this.#holder = holder;
    this.#logger = logger;
  }

  /** Announces a run of this session. Call `leave` on the result when the run is over. */
  enter(sessionId: string, scope: RunScope): EnteredRun {
    const run = new EnteredRun(scope, () => {
      if (this.#entered.get(sessionId) === run) this.#entered.delete(sessionId);
      if (run.gathered.some(({ isEmpty }) => !isEmpty))
        this.#logger.warn("A model response broke off; its calls were dropped.", { session: sessionId });
    });
    this.#entered.set(sessionId, run);
    return run;
  }

  /** Lets a call of the executor pass: it was approved. */
  pass(context: Context): void {
    this.#approved.add(context);
  }

  override async beforeRunCallback({ invocationContext }: Invocation): Promise<undefined> {
    const { session } = invocationContext;
    const run = this.#entered.get(session.id);
    if (!run) return;
    this.#runs.set(session, run);
    run.scope.onBegin(session);
  }

  /** K1: a returned object skips the tool and `FunctionTool`'s own confirmation; `undefined` runs the tool. */
  override async beforeToolCallback({ tool, toolArgs, toolContext }: ToolCallback): Promise<Result | undefined> {
    if (this.#approved.has(toolContext)) return undefined;
    if (tool instanceof MissingTool) return tool.runAsync();
    // A toolset may bring such a tool at any time. Its call would be invisible.
    if (isReserved(tool.name)) return { error: `The name ${tool.name} is reserved by ADK; the tool was not run.` };
    if (this.#isStopped(toolContext)) return { error: "The turn was stopped; the tool was not run." };
    const input = inputOf(tool, toolArgs);
    const gated = await this.#wantsApproval(tool, input, toolContext);
    if (typeof gated !== "boolean") return gated;
    // K10: ADK runs an agent's tool without plugins. We run it ourselves, and hold the call while the agent waits.
    if (isAgentTool(tool)) {
      const innerSession = `${toolContext.sessionId}~${toolContext.functionCallId}`;
      const held = { gated, external: true, innerSession };
      return (await this.#refusal(tool, input, toolContext)) ?? this.#hold(tool, toolArgs, toolContext, held);
    }
    // A call with a report or a time limit needs a row, also when no one is asked about it.
    const needsRow = tool.isLongRunning || this.#holder.hasTimeLimit(tool.name);
    if (!gated && !needsRow) return this.#bind(tool, input, toolContext);
    return (
      invalidArguments(tool, toolArgs) ??
      (await this.#refusal(tool, input, toolContext)) ??
      this.#hold(tool, toolArgs, toolContext, { gated, external: isClientTool(tool) })
    );
  }

  async #wantsApproval(tool: BaseTool, input: CallInput, context: Context): Promise<boolean | { error: string }> {
    const byPolicy = await this.#holder.policyWantsApproval(tool.name, () => input.value());
    try {
      return byPolicy || (await toolWantsApproval(tool, input.value(), context));
    } catch (error) {
      return argumentsError(tool, error);
    }
  }

  /** Asks the callbacks of the other plugins and of the agent, which come after the gate. */
  #refusal(tool: BaseTool, input: CallInput, context: Context): Promise<Result | undefined> {
    return refusalOf({ tool, input, context }, { pass: (trial) => this.pass(trial), logger: this.#logger });
  }

  /** Lets a free call run with the input that is shown. */
  #bind(tool: BaseTool, input: CallInput, context: Context): Promise<Result | undefined> {
    return bindFreeCall(tool, input, context, {
      logger: this.#logger,
      isFree: async (changed) => !(await this.#wantsApproval(tool, changed, context)),
      show: (shown) => this.#show(tool, shown, context),
    });
  }

  /** Shows the input of a free call, unless it is what was shown with the call. A question has its own. */
  async #show({ name: toolName }: BaseTool, input: CallInput, context: Context): Promise<void> {
    if (input.isShown) return;
    const call = { toolCallId: context.functionCallId ?? "", toolName, input: input.shown };
    await this.#runOf(context.invocationContext)?.scope.showInput(call);
    input.isShown = true;
  }

  /** K16: a throw overrides what `afterToolCallback` returns, so a call whose tool threw must not be held. */
  override async onToolErrorCallback({ toolContext, error }: { toolContext: Context; error: Error }) {
    this.#failures.set(toolContext, error);
    return undefined;
  }

  /** K14: the first plugin's value keeps all other after-callbacks away from a call that has not run. */
  override async afterToolCallback({ tool, toolArgs, toolContext, result }: ToolCallback & { result: Result }) {
    if (this.#approved.has(toolContext)) return undefined;
    if (isPlaceholder(result) || this.#ran.has(toolContext)) return result;
    const asked = toolContext.actions.requestedToolConfirmations;
    const id = toolContext.functionCallId ?? "";
    const request = asked[id];
    delete asked[id]; // K8: without the request ADK does not ask for a confirmation itself
    const failure = this.#failures.get(toolContext);
    if (failure) return undefined;
    if (request) {
      const { hint, payload } = request;
      return this.#hold(tool, toolArgs, toolContext, { gated: true, external: false, hint, payload, hasRun: true });
    }
    if (dropNonJsonState(toolContext) > 0)
      this.#logger.warn("State a tool set is not JSON and was dropped.", { tool: tool.name });
    return needsConversion(result) ? toObject(result) : undefined;
  }

  /** K3: what is left in the event after this is what ADK stores, yields and sends. */
  override async onEventCallback({ invocationContext, event }: Invocation & { event: Event }): Promise<undefined> {
    const scope = this.#runOf(invocationContext)?.scope;
    if (!event.partial) await scope?.beforeEvent();
    noteHandover(event);
    attachInputs(event);
    const parts = event.content?.parts;
    // Checked by value, not by run: a placeholder must never get through, even when its run has been left.
    const isHeld = ({ functionResponse }: Part) => isPlaceholder(functionResponse?.response);
    const begun = takeBegun(parts);
    const sends = scope?.freeResults === "send";
    const isAnyHeld = parts?.some(isHeld);
    if (begun.length > 0 && (sends || !isAnyHeld)) addMetadata(event, { unknown: begun });
    if (!parts || !isAnyHeld) return undefined;
    // What has only begun is not kept: the row says what the model is told later.
    const isKept = ({ functionResponse: { id = "" } = {} }: Part) => sends || !begun.includes(id);
    const free = parts.filter((part) => !isHeld(part) && isKept(part));
    addMetadata(event, { kept: sends ? [] : (free as KeptPart[]) });
    event.content = sends && free.length > 0 ? { ...event.content, parts: free } : undefined;
    return undefined;
  }

  /** K4: `{}` ends the run for this agent, its parents and its later siblings, without an event and without a request. */
  override async beforeModelCallback({ callbackContext, llmRequest }: ModelCallback & { llmRequest: LlmRequest }) {
    const { invocationContext } = callbackContext;
    const { session, agent } = invocationContext;
    const run = this.#runOf(invocationContext);
    if (run?.isPaused || hasBrokenOff(session.events)) {
      if (!isInLoop(agent)) return {};
      // A `LoopAgent` would start again and again on nothing; this event tells it to end.
      callbackContext.actions.escalate = true;
      return { interrupted: true };
    }
    const refusal = run?.scope.beforeRequest();
    if (refusal !== undefined) return { errorCode: "TOO_MANY_CALLS", errorMessage: refusal };
    const gathered = new GatheredCalls(llmRequest.toolsDict);
    this.#gathered.set(invocationContext, gathered);
    run?.gathered.push(gathered);
    orderResponses(llmRequest.contents);
    beginWithUser(llmRequest.contents, session.events);
    return undefined;
  }

  /** K15, K11: gathers the calls of one model response into one event, see `GatheredCalls`. */
  override async afterModelCallback({ callbackContext, llmResponse }: ModelCallback & { llmResponse: LlmResponse }) {
    const { invocationContext } = callbackContext;
    const gathered = this.#gathered.get(invocationContext);
    if (!gathered || llmResponse.partial) return undefined;
    const run = this.#runOf(invocationContext);
    const usedIds = () => this.#holder.callIds(invocationContext.session.id);
    const isInner = run?.scope.chat !== invocationContext.session.id;
    const { dropped, usage } = await gathered.take(llmResponse, invocationContext, { usedIds, isInner });
    if (dropped) this.#logger.warn("Calls after a held call were dropped.", { session: invocationContext.session.id });
    if (usage) run?.scope.countUsage(usage);
    return undefined;
  }

  async #hold(tool: BaseTool, args: Args, context: Context, how: Held): Promise<Result> {
    const { invocationContext } = context;
    let approval: Approval | undefined;
    try {
      const run = this.#runOf(invocationContext);
      // ADK makes all calls of a step, whatever happens meanwhile; the run may have been left.
      if (!run || this.#isStopped(context)) throw new Error("The call belongs to no turn.");
      if (isClientTool(tool) && !how.gated) await this.#show(tool, inputOf(tool, args), context);
      approval = await this.#holder.hold({ ...how, ...describeCall(tool, args, context) }, run.scope);
      const runsNow = !how.gated && approval.state === "approved";
      const result = runsNow ? await run.scope.runHeld(approval) : undefined;
      if (result) {
        if (how.innerSession === undefined) this.#ran.add(context);
        context.state.update(result.stateDelta);
        return result.isFinal ? result.response : markAsBegun(result.response);
      }
      await run.scope.showQuestion(approval);
      run.isPaused = true;
      this.#gathered.get(invocationContext)?.hold();
      return placeholder(approval.id);
    } catch (error) {
      this.#logger.error("A call could not be held.", { tool: tool.name, error: describeError(error) });
      if (approval) await this.#release(approval);
      const why = error instanceof BridgeError ? error.message : "Approval is not available.";
      return { error: how.innerSession ? "The agent could not finish." : `${why} The tool was not run.` };
    }
  }

  async #release(approval: Approval): Promise<void> {
    try {
      await this.#holder.cancelUnshown(approval);
    } catch (error) {
      this.#logger.error("A call that could not be held could not be cancelled.", {
        approval: approval.id,
        error: describeError(error),
      });
    }
  }

  #runOf({ session }: InvocationContext): EnteredRun | undefined {
    return this.#runs.get(session);
  }

  #isStopped({ invocationContext }: Context): boolean {
    const run = this.#runOf(invocationContext);
    return invocationContext.abortSignal?.aborted || !run || run.isOver || run.scope.refusesCalls();
  }
}

type Held = Pick<HeldCall, "gated" | "external" | "hint" | "payload" | "innerSession" | "hasRun">;
type Args = Record<string, unknown>;
type Result = Record<string, unknown>;
interface Invocation {
  invocationContext: InvocationContext;
}
interface ModelCallback {
  callbackContext: Context;
}
interface ToolCallback {
  tool: BaseTool;
  toolArgs: Args;
  toolContext: Context;
}
