import {
  BasePlugin,
  type BaseNode,
  type BaseTool,
  type Context,
  type Event,
  type InvocationContext,
  isAgentTool,
  type LlmRequest,
  type LlmResponse,
  type NodeContext,
} from "@google/adk";
import { BridgeError } from "../../protocol/index.ts";
import type { Approval } from "../../stores/index.ts";
import { describeError, type Logger } from "../support/index.ts";
import { innerSessionId } from "./agent-tool.ts";
import { isInLoop } from "./agents.ts";
import { CallChecks } from "./call-checks.ts";
import { attachInputs, inputOf } from "./call-input.ts";
import { isClientTool } from "./client-tool.ts";
import { refuseCredentialRequest, refuseCredentialRequests } from "./credential-requests.ts";
import { describeCall } from "./describe-call.ts";
import { endsRun, EnteredRun, HoldUnknown, RunRefused } from "./entered-run.ts";
import { excessError, markExcessCalls } from "./excess-calls.ts";
import { requireFindable } from "./find-call-tool.ts";
import { checkAuthor } from "./foreign-events.ts";
import type { Args, Held, Invocation, ModelCallback, Result, ToolCallback } from "./gate-callbacks.ts";
import { GatheredCalls } from "./gathered-calls.ts";
import { hasBrokenOff, isReserved } from "./history.ts";
import { noteHandover } from "./live/handover.ts";
import { isPlaceholder, markUnknown, placeholder, takePlaceholders } from "./marked-results.ts";
import { MissingTool } from "./missing-tool.ts";
import { isNodeTool } from "./refuse-agents.ts";
import { repairContents } from "./request-contents.ts";
import type { CallHolder, RunScope } from "./run-scope.ts";
import { prepareStreams } from "./streamed-responses.ts";
import { readActions } from "./tool-actions.ts";
import { invalidArguments } from "./tool-checks.ts";
import { dropNonJsonState, needsConversion, toObject } from "./tool-result.ts";

/**
 * The gate: one ADK plugin that sees every tool call before the tool. It never runs a gated tool and never uses ADK's own
 * confirmation. It *holds* the call: it creates a row in the ledger, gives ADK a placeholder as the tool's result, removes
 * the placeholder from the event again, and lets the run make no further model request. A person decides on the row, the
 * executor runs the call, and the conversation gives the outcome to the model.
 *
 * docs/design/adk.md lists what it relies on in ADK (K1 and so on), with contract tests. Responses are changed in place and
 * not returned, so that the callbacks of other plugins and of the agent see them too.
 */
export class GatePlugin extends BasePlugin {
  readonly #holder: CallHolder;
  readonly #logger: Logger;
  readonly #checks: CallChecks;
  /** Runs that are about to begin, by session id. */
  readonly #entered = new Map<string, EnteredRun>();
  /**
   * Runs by their ADK session object (K18). Session ids do not identify a run: an abandoned run may still make calls after
   * the next run of the same session has begun. A call outside a known run is refused.
   */
  readonly #runs = new WeakMap<object, EnteredRun>();
  /** Contexts of calls that the executor makes; these calls were approved and pass. */
  readonly #approved = new WeakSet<Context>();
  /** Contexts of calls whose tool threw. */
  readonly #failures = new WeakSet<Context>();
  /** Contexts of calls that ran in the ledger. The callbacks after the tool have run there. */
  readonly #ran = new WeakSet<Context>();
  /** The calls of each model response while it is streamed. */
  readonly #gathered = new WeakMap<InvocationContext, GatheredCalls>();

  constructor({ holder, logger }: { holder: CallHolder; logger: Logger }) {
    super("adk-stream-protocol-gate");
    this.#holder = holder;
    this.#logger = logger;
    this.#checks = new CallChecks({ holder, logger, pass: (context) => this.pass(context) });
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

  /** True when a person has to be asked about a call that is to run outside ADK's loop. */
  async wantsApproval(tool: BaseTool, args: Args, context: Context, row: Approval): Promise<boolean> {
    const run = { owner: row.owner, actor: () => row.requestedBy ?? row.owner };
    return (await this.#checks.wantsApproval(tool, inputOf(tool, args), context, run)) === true;
  }

  /** K1: a returned object skips the tool and `FunctionTool`'s own confirmation; `undefined` runs the tool. */
  override async beforeToolCallback({ tool, toolArgs, toolContext }: ToolCallback): Promise<Result | undefined> {
    if (this.#approved.has(toolContext)) return undefined;
    const excess = excessError(toolArgs);
    if (excess) return excess;
    if (tool instanceof MissingTool) return tool.runAsync();
    // A toolset may bring such a tool at any time. Its call would be invisible.
    if (isReserved(tool.name)) return { error: `The name ${tool.name} is reserved by ADK; the tool was not run.` };
    const run = this.#runOf(toolContext.invocationContext);
    await run?.yieldLoop();
    if (!run || this.#isStopped(toolContext)) return { error: "The turn was stopped; the tool was not run." };
    if (isNodeTool(tool)) return { error: this.#refuseNode(tool.name, toolContext.invocationContext).message };
    const input = inputOf(tool, toolArgs);
    const gated = await this.#checks.wantsApproval(tool, input, toolContext, run.scope);
    if (typeof gated !== "boolean") return gated;
    // K10: ADK runs an agent's tool without plugins. We run it ourselves, and hold the call while the agent waits.
    const isAgent = isAgentTool(tool);
    // A call with a report or a time limit needs a row, also when no one is asked about it.
    const needsRow = gated || isAgent || tool.isLongRunning || this.#holder.hasTimeLimit(tool.name);
    if (!needsRow) return this.#checks.bind(tool, input, toolContext, run.scope);
    const invalid = isAgent ? undefined : invalidArguments(tool, toolArgs);
    if (invalid) return invalid;
    const { refusal, question, changed } = await this.#checks.guards(tool, input, toolContext);
    const isGated = gated || question !== undefined;
    const call = { tool, args: toolArgs, gated: isGated };
    const error = changed && (await this.#checks.takeOver({ ...call, changed }, toolContext, run.scope));
    if (refusal ?? error) return refusal ?? error;
    const { sessionId, functionCallId = "" } = toolContext;
    return this.#hold(tool, toolArgs, toolContext, {
      gated: isGated,
      external: isAgent || isClientTool(tool),
      ...question,
      ...(isAgent && { innerSession: innerSessionId(sessionId, functionCallId) }),
    });
  }

  /** K27: nodes run without the events that the gate relies on. What is thrown here keeps the node from running. */
  override async beforeNodeCallback({
    node,
    nodeContext,
  }: {
    node: BaseNode;
    nodeContext: NodeContext;
  }): Promise<never> {
    throw this.#refuseNode(node.name, nodeContext.invocationContext);
  }

  /** K16: a throw overrides what `afterToolCallback` returns, so a call whose tool threw must not be held. */
  override async onToolErrorCallback({ toolContext }: { toolContext: Context }) {
    this.#failures.add(toolContext);
    return undefined;
  }

  /** K14: the first plugin's value keeps all other after-callbacks away from a call that has not run. */
  override async afterToolCallback({ tool, toolArgs, toolContext, result }: ToolCallback & { result: Result }) {
    if (this.#approved.has(toolContext)) return undefined;
    if (isPlaceholder(result) || this.#ran.has(toolContext)) return result;
    const noCredential = refuseCredentialRequest(toolContext);
    const asked = toolContext.actions.requestedToolConfirmations;
    const id = toolContext.functionCallId ?? "";
    const request = asked[id];
    delete asked[id]; // K8: without the request ADK does not ask for a confirmation itself
    if (this.#failures.has(toolContext)) return undefined;
    if (noCredential) return noCredential;
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
    const run = this.#runOf(invocationContext);
    const scope = run?.scope;
    // ADK makes an event of what `endsRun` has thrown. In the history it would be what the agent has said.
    if (event.errorCode) run?.throwIfRefused();
    refuseCredentialRequests(event);
    const removed = checkAuthor(event, invocationContext);
    if (removed.length > 0) this.#logger.warn("An event said more than its author may.", { by: event.author, removed });
    if (!event.partial) await scope?.beforeEvent(event);
    noteHandover(event);
    markExcessCalls(event, this.#holder.callsPerResponse);
    attachInputs(event);
    takePlaceholders(event, scope?.freeResults ?? "keep");
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
    const gathered = new GatheredCalls(llmRequest.toolsDict, this.#holder.callsPerResponse);
    this.#gathered.set(invocationContext, gathered);
    run?.gathered.push(gathered);
    if (agent) prepareStreams(agent);
    repairContents(llmRequest.contents, session.events);
    await endsRun(run, run?.scope.fillIn(llmRequest.contents));
    return undefined;
  }

  /** K15, K11: gathers the calls of one model response into one event, see `GatheredCalls`. */
  override async afterModelCallback({ callbackContext, llmResponse }: ModelCallback & { llmResponse: LlmResponse }) {
    const { invocationContext } = callbackContext;
    const gathered = this.#gathered.get(invocationContext);
    if (!gathered || llmResponse.partial) return undefined;
    const [run, { id }] = [this.#runOf(invocationContext), invocationContext.session];
    const how = { usedIds: () => this.#holder.callIds(id), isInner: run?.scope.chat !== id };
    const { dropped, usage } = await endsRun(run, gathered.take(llmResponse, invocationContext, how));
    if (dropped) this.#logger.warn("Calls after a held call were dropped.", { session: invocationContext.session.id });
    if (usage) run?.scope.countUsage(usage);
    return undefined;
  }

  async #hold(tool: BaseTool, args: Args, context: Context, how: Held): Promise<Result> {
    const { invocationContext } = context;
    const run = this.#runOf(invocationContext);
    let approval: Approval | undefined;
    try {
      // ADK makes all calls of a step, whatever happens meanwhile; the run may have been left.
      const refuseStopped = () => {
        if (this.#isStopped(context)) throw new Error("The call belongs to no turn.");
      };
      refuseStopped();
      if (!run) throw new Error("The call belongs to no run.");
      await requireFindable(tool, invocationContext, this.#gathered.get(invocationContext));
      if (isClientTool(tool) && !how.gated) await this.#checks.show(tool, inputOf(tool, args), context, run.scope);
      approval = await this.#holder.hold({ ...how, ...describeCall(tool, args, context) }, run.scope, refuseStopped);
      const result = !how.gated && approval.state === "approved" ? await run.scope.runHeld(approval) : undefined;
      if (result) {
        if (how.innerSession === undefined) this.#ran.add(context);
        context.state.update(result.stateDelta);
        Object.assign(context.actions, readActions(result.actions));
        return markUnknown(result.response, result.unknown);
      }
      // A tool that no one is asked about has begun, also if its turn was stopped meanwhile.
      if (how.gated || how.innerSession !== undefined) await run.scope.showQuestion(approval);
      return this.#pause(approval.id, invocationContext);
    } catch (error) {
      // The row stays: the node that goes on with the turn shows the question, and a person may have answered it there.
      if (approval && run?.scope.isLeft(error)) return this.#pause(approval.id, invocationContext);
      this.#logger.error("A call could not be held.", { tool: tool.name, error: describeError(error) });
      if (error instanceof RunRefused) run?.refuse(error);
      const isLeft = () => run?.scope.isLeft() ?? false;
      const released = approval && (await this.#holder.release(approval, isLeft));
      // The tool may have run, or a person has said yes. The model waits for what the row will say.
      if (approval ? !released : error instanceof HoldUnknown)
        return this.#pause(approval?.id ?? "", invocationContext);
      const why = error instanceof BridgeError ? error.message : "Approval is not available.";
      const text = how.innerSession ? "The agent could not finish." : `${why} The tool was not run.`;
      return markUnknown({ error: text, ...released?.done }, released?.unknown ?? []);
    }
  }

  /** The run makes no further request; the row says what the model is told. */
  #pause(approvalId: string, context: InvocationContext): Result {
    const run = this.#runOf(context);
    if (run) run.isPaused = true;
    this.#gathered.get(context)?.hold();
    return placeholder(approvalId);
  }

  #refuseNode(name: string, context: InvocationContext): RunRefused {
    const error = new RunRefused(`Workflows are not supported; the node ${name} was not run.`);
    this.#logger.error("An agent tried to run a workflow.", { node: name, session: context.session.id });
    this.#runOf(context)?.refuse(error);
    return error;
  }

  #runOf({ session }: InvocationContext): EnteredRun | undefined {
    return this.#runs.get(session);
  }

  #isStopped({ invocationContext }: Context): boolean {
    const run = this.#runOf(invocationContext);
    return invocationContext.abortSignal?.aborted || !run || run.isOver || run.scope.refusesCalls();
  }
}
