import type { BaseAgent, Session as AdkSession } from "@google/adk";
import type { Content } from "@google/genai";
import { BridgeError, isSettled } from "../../protocol/index.ts";
import { AlreadyResponded, type Approval, type JsonObject, type Session, type Store } from "../../stores/index.ts";
import { agentOf, agentOutcome, agentRequest } from "../adk/agent-tool.ts";
import { laterInSequence } from "../adk/agents.ts";
import type { EventMetadata } from "../adk/event-metadata.ts";
import { ToolsAway } from "../adk/find-tool.ts";
import { awaitsModel, lastStep, openCalls } from "../adk/history.ts";
import { emptyContent, runRequests } from "../adk/request-run.ts";
import { rootOf } from "../adk/runners.ts";
import type { ToolActions } from "../adk/tool-actions.ts";
import type { Progress } from "../log/turn-log.ts";
import { describeError } from "../support/index.ts";
import { markTold, type PlannedRow } from "./apply-plan.ts";
import type { ConversationContext } from "./context.ts";
import type { HistoryPlan } from "./history-plan.ts";
import { updateHistory } from "./update-history.ts";
import { type Listener, newRunScope } from "./new-run-scope.ts";

/** What the next request says. */
interface NextRequest {
  content: Content;
  metadata?: EventMetadata;
  stateDelta?: JsonObject;
  /** The responses of a step: its calls, the agent that made them, and the rows that the request tells about. */
  step?: { calls: readonly string[]; author: string; tells: readonly string[]; rows: readonly PlannedRow[] };
  /** A step whose responses are in the history, because its tools asked for more: its agent, and what they asked. */
  resume?: { author: string; actions: ToolActions };
}

/**
 * One ADK session that is talked to by requests: the chat's own, or that of an agent which is run as a tool. `begin`
 * or `resume` decides what the next request says, `run` makes it.
 */
export class RequestSession {
  readonly #session: Session;
  readonly #mode: Approval["mode"];
  readonly #context: ConversationContext;
  #next: NextRequest = { content: emptyContent };

  constructor(session: Session, mode: Approval["mode"], context: ConversationContext) {
    this.#session = session;
    this.#mode = mode;
    this.#context = context;
  }

  /** The next request says this. */
  begin(content: Content, metadata?: EventMetadata): void {
    this.#next = { content, ...(metadata && { metadata }) };
  }

  /** The next request brings the outcomes of the open step, if the whole step is settled. */
  async resume(listener: Listener): Promise<"ask" | Progress> {
    await runWaitingAgents(this.#session, listener, this.#context);
    const session = await this.#context.sessions.load(this.#session);
    const root = rootOf(await this.#context.runners.runnerOf(this.#session));
    // Another version of the agent may have made the calls.
    const isGone = (name: string) => root.findAgent(name) === undefined;
    const plan = await updateHistory(session, this.#session.chat, { kind: "outcomes", isGone }, this.#context);
    if (plan.next === "wait") return "parked";
    if (plan.next === "rest") {
      // Something may have cut off a model call after what it responds to was stored. Then an agent run as a tool goes on.
      const { input } = listener.turn;
      const isAgent = this.#session.id !== this.#session.chat;
      const asksAgain = isAgent || input.kind === "again" || (input.kind === "settled" && input.model === "again");
      if (!asksAgain || !awaitsModel(session.events)) return "done";
    }
    const step = plan.resume ?? (plan.next === "rest" ? lastStep(session.events) : undefined);
    const resume = step && !isGone(step.author) ? step : undefined;
    this.#next = plan.request
      ? toNextRequest(plan.request, plan.rows)
      : { content: emptyContent, ...(resume && { resume }) };
    return "ask";
  }

  /** Makes the request, and those of the agents that come after it in a sequence. */
  async run(listener: Listener): Promise<Progress> {
    const root = rootOf(await this.#context.runners.runnerOf(this.#session));
    const { step, resume } = this.#next;
    if (resume) return this.#goOn(resume, root, listener);
    if (!step) return this.#runOnce(this.#next, root, listener);
    try {
      if ((await this.#runOnce(this.#next, root, listener)) === "parked") return "parked";
    } finally {
      await this.#markStepTold(step);
    }
    return this.#runEach(laterInSequence(root, step.author), listener);
  }

  /**
   * Goes on after a step whose responses are in the history, as ADK would have done: with the agent that takes over, with
   * the agent that made the calls, or without asking it again. A loop has ended with the call that waited.
   */
  async #goOn(
    { author, actions }: NonNullable<NextRequest["resume"]>,
    root: BaseAgent,
    listener: Listener,
  ): Promise<Progress> {
    const { transferToAgent, skipSummarization } = actions;
    const next = transferToAgent ?? author;
    const agent = root.findAgent(next);
    if (!agent) throw new BridgeError("unavailable", `There is no agent named ${next} to go on with.`);
    const isAsked = transferToAgent !== undefined || !skipSummarization;
    return this.#runEach([...(isAsked ? [agent] : []), ...laterInSequence(root, author)], listener);
  }

  /** Lets agents go on with the history as it is, one after the other. */
  async #runEach(agents: readonly BaseAgent[], listener: Listener): Promise<Progress> {
    for (const agent of agents)
      if ((await this.#runOnce({ content: emptyContent }, agent, listener)) === "parked") return "parked";
    return "done";
  }

  /** The rows of a step are told when the history has its responses, even if the request failed afterwards. */
  async #markStepTold({ calls, tells, rows }: NonNullable<NextRequest["step"]>): Promise<void> {
    const { store, sessions } = this.#context;
    const open = openCalls((await sessions.load(this.#session)).events);
    if (!open.some(({ call }) => calls.includes(call.id))) await markTold(tells, rows, store);
  }

  /** One ADK run: its events are shown, and a held call ends it. */
  async #runOnce(next: NextRequest, agent: BaseAgent, listener: Listener): Promise<Progress> {
    const { gate, runners, maxLlmCalls, modelCalls, logger } = this.#context;
    const { turn, log } = listener;
    const { id: sessionId, owner: userId } = this.#session;
    const scope = newRunScope(
      turn.chat,
      {
        mode: this.#mode,
        freeResults: "keep",
        refusesCalls: () => false,
        beforeRequest: () => log.countRequest(maxLlmCalls) ?? modelCalls.take(userId),
      },
      this.#context,
      () => listener,
      (approval) => runAgent(approval, listener, this.#context),
    );
    const entered = gate.enter(sessionId, scope);
    try {
      const events = runRequests(runners.runnerFor(agent), {
        userId,
        sessionId,
        content: next.content,
        metadata: next.metadata,
        stateDelta: next.stateDelta,
        maxLlmCalls,
        signal: turn.signal,
      });
      const inner = sessionId !== turn.chat.id;
      for await (const event of events) {
        entered.throwIfRefused();
        await log.event(event, inner);
      }
      entered.throwIfRefused();
    } catch (error) {
      entered.throwIfRefused();
      if (!(error instanceof AlreadyResponded)) throw error;
      logger.info("Another process continues this step.", { chat: turn.chat.id, call: error.callId });
      return "parked";
    } finally {
      entered.leave();
    }
    turn.signal.throwIfAborted();
    return entered.isPaused ? "parked" : "done";
  }
}

function toNextRequest(request: NonNullable<HistoryPlan["request"]>, rows: readonly PlannedRow[]): NextRequest {
  const { parts, author, stateDelta, tells, unknown } = request;
  const calls = parts.flatMap(({ functionResponse }) => functionResponse?.id ?? []);
  return {
    content: { role: "user", parts },
    stateDelta,
    step: { calls, author, tells, rows },
    ...(unknown.length > 0 && { metadata: { unknown } }),
  };
}

/**
 * Runs an agent that is called as a tool, in a session of its own with the gate in front of its tools (K10). Returns its
 * settled row, or undefined when it waits for a decision or a result.
 */
export async function runAgent(
  approval: Approval,
  listener: Listener,
  context: ConversationContext,
): Promise<Approval | undefined> {
  const { store, sessions, runners, executor } = context;
  if (approval.innerSession === undefined) throw new Error(`${approval.toolName} is not an agent.`);
  const hasBegun = (await store.events(approval.innerSession)).length > 0;
  const tool = await runners.agentToolOf(approval, { hasBegun }).catch((error: unknown) => {
    if (error instanceof ToolsAway) throw error;
    return { error: describeError(error) };
  });
  if ("error" in tool) return executor.finishAgent(approval, { event: "fail", outcome: tool });
  const outer = await requireSession(store, approval.session);
  const inner = await store.openSession({
    id: approval.innerSession,
    chat: listener.turn.chat.id,
    appName: agentOf(tool).name,
    state: outer.state,
  });
  const session = new RequestSession(inner, approval.mode, context);
  if (!hasBegun) {
    const text = agentRequest(tool, JSON.parse(approval.input) as JsonObject);
    session.begin({ role: "user", parts: [{ text }] });
  }
  const next = !hasBegun ? "ask" : await session.resume(listener);
  const progress = next === "ask" ? await session.run(listener) : next;
  if (progress === "parked") return undefined;
  const { events }: AdkSession = await sessions.load(inner);
  const settled = await executor.finishAgent(approval, agentOutcome(tool, events));
  return isSettled(settled.state) ? settled : undefined;
}

/** Runs on the agents called as tools whose own calls are all settled. */
export async function runWaitingAgents(
  session: Session,
  listener: Listener,
  context: ConversationContext,
): Promise<void> {
  const { store, sessions } = context;
  const rows = await store.listApprovals({ session: session.id, state: "approved" });
  const agents = rows.filter(({ innerSession }) => innerSession !== undefined);
  if (agents.length === 0) return;
  const open = new Set(openCalls((await sessions.load(session)).events).map(({ call }) => call.id));
  for (const row of agents) {
    if (!open.has(row.toolCallId)) continue;
    const settled = await runAgent(row, listener, context);
    if (settled) await listener.log.showInner(settled);
  }
}

async function requireSession(store: Store, id: string): Promise<Session> {
  const session = await store.getSession(id);
  if (!session) throw new Error(`Session ${id} is gone.`);
  return session;
}
