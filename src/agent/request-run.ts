import { type Event, isAgentTool, type Runner, SequentialAgent, StreamingMode } from "@google/adk";
import type { Content, Part } from "@google/genai";
import { isSettled } from "../protocol/index.ts";
import { AlreadyAnswered, type Approval, type JsonObject, type Session, type Store } from "../stores/index.ts";
import { stepThrough } from "./abortable.ts";
import { agentOf, agentOutcome, agentRequest } from "./agents.ts";
import { findTool, requireLlmAgent } from "./executor.ts";
import type { Run } from "./gate.ts";
import { tellable } from "./heal.ts";
import { awaitsModel, hasMovedOn, keptResults, openCalls } from "./history.ts";
import { recordOutcomes } from "./live-outcomes.ts";
import { interruptedResponse } from "./outcome.ts";
import type { Turn, TurnTools } from "./turn-input.ts";
import type { Progress, TurnLog } from "./turn-log.ts";

/**
 * Goes on where a session waits: when every call of its open step is settled, the model gets all their responses at once,
 * in the order of the calls. Agents run as tools are sessions of their own, so this descends into them first.
 */
export async function advance(session: Session, turn: Turn, tools: TurnTools, log: TurnLog): Promise<Progress> {
  const { store } = tools;
  await settleAgents(session, turn, tools, log);
  const events = await loadEvents(session, tools);
  const open = openCalls(events);
  const last = open.at(-1)?.event;
  if (!last) {
    const nudge = turn.input.kind === "settled" && turn.input.model === "nudge" && awaitsModel(events);
    return nudge ? run(session, nothing, turn, tools, log) : "done";
  }
  const rows = new Map((await store.listApprovals({ session: session.id })).map((row) => [row.toolCallId, row]));
  const asked = open.flatMap(({ call }) => rows.get(call.id) ?? []);
  if (asked.some(({ state }) => !isSettled(state))) return "parked";

  // Live, people go on talking while a call waits. Such a call is answered where it stands, and spoken of as news.
  if (open.some(({ event }) => event.id !== last.id) || hasMovedOn(events, last)) {
    const { told } = await recordOutcomes(await tools.sessions.load(session), tools, () => false);
    for (const row of told) await store.markTold(row.id);
    return run(session, nothing, turn, tools, log);
  }

  const kept = keptResults(events);
  const told: Approval[] = [];
  const parts: Part[] = [];
  for (const { call } of open) {
    const row = rows.get(call.id);
    const outcome = row && (await tellable(row, store));
    told.push(...(outcome?.told ?? []));
    const response = outcome?.response ?? kept.get(call.id) ?? interruptedResponse;
    parts.push({ functionResponse: { id: call.id, name: call.name, response } });
  }
  const stateDelta = Object.assign({}, ...asked.map((row) => row.stateDelta)) as Record<string, unknown>;
  let progress: Progress;
  try {
    progress = await run(session, { role: "user", parts }, turn, tools, log, { stateDelta });
  } finally {
    // Also where the model could not be reached: the history has the responses, and the next turn begins with them.
    const unanswered = openCalls(await loadEvents(session, tools));
    if (!unanswered.some(({ event }) => event.id === last.id)) for (const row of told) await store.markTold(row.id);
  }
  if (progress === "parked") return progress;

  // ADK resumes one agent of a sequence only; the ones behind it are ours to run.
  const runner = await tools.runners.runnerOf(session);
  let agent = "findAgent" in runner.agent ? runner.agent.findAgent(last.author ?? "") : undefined;
  for (; agent?.parentAgent; agent = agent.parentAgent) {
    const { parentAgent } = agent;
    if (!(parentAgent instanceof SequentialAgent)) continue;
    for (const next of parentAgent.subAgents.slice(parentAgent.subAgents.indexOf(agent) + 1)) {
      const sibling = tools.runners.runnerFor(next);
      progress = await run(session, nothing, turn, tools, log, { runner: sibling });
      if (progress === "parked") return progress;
    }
  }
  return "done";
}

/** Runs on the agents run as tools that wait for nobody any more. */
export async function settleAgents(session: Session, turn: Turn, tools: TurnTools, log: TurnLog): Promise<void> {
  const { store } = tools;
  const open = new Set(openCalls(await loadEvents(session, tools)).map(({ call }) => call.id));
  for (const row of await store.listApprovals({ session: session.id })) {
    if (!open.has(row.toolCallId) || !row.innerSession || row.state !== "approved") continue;
    const settled = await runInner(row, turn, tools, log);
    if (settled) await log.showInner(settled);
  }
}

/** A message of no words, which reaches no request (K7) and makes the model go on. */
const nothing: Content = { role: "user", parts: [{ text: "" }] };

/** One ADK run: its events become chunks, a held call parks it. */
export async function run(
  session: Session,
  newMessage: Content,
  turn: Turn,
  tools: TurnTools,
  log: TurnLog,
  extra: { message?: string; stateDelta?: Record<string, unknown>; runner?: Runner } = {},
): Promise<Progress> {
  const runner = extra.runner ?? (await tools.runners.runnerOf(session));
  const scope: Run = {
    chat: turn.chat.id,
    owner: turn.chat.owner,
    messageId: () => turn.reply,
    paused: false,
    onEvent: () => log.flush(),
    onHeld: async (approval) => {
      turn.signal.throwIfAborted();
      await log.ask(approval);
    },
    onRequest: () => log.askModel(tools.maxLlmCalls),
    onUsage: (event) => log.count(event),
    runInner: (approval) => runInner(approval, turn, tools, log),
  };
  const leave = tools.gate.enter(session.id, scope);
  try {
    const events = runner.runAsync({
      userId: session.owner,
      sessionId: session.id,
      newMessage,
      stateDelta: extra.stateDelta,
      abortSignal: turn.signal,
      customMetadata: extra.message === undefined ? undefined : { message: extra.message },
      runConfig: { streamingMode: StreamingMode.SSE, maxLlmCalls: tools.maxLlmCalls },
    });
    const inner = session.id !== turn.chat.id;
    let failures = 0;
    for await (const event of stepThrough(events, turn.signal)) {
      await log.event(event, inner);
      failures = event.errorCode === undefined ? 0 : failures + 1;
      // ADK tells of an error in an event and goes on; a loop would fail for ever, and let nothing else run.
      if (failures > 1) break;
    }
  } catch (error) {
    if (!(error instanceof AlreadyAnswered)) throw error;
    tools.logger.info("Another instance goes on with this step.", { chat: turn.chat.id, call: error.callId });
    return "parked";
  } finally {
    leave();
  }
  turn.signal.throwIfAborted();
  return scope.paused ? "parked" : "done";
}

/** An agent run as a tool, in a session of its own with our gate in front of its tools. */
export async function runInner(approval: Approval, turn: Turn, tools: TurnTools, log: TurnLog) {
  const { store, executor } = tools;
  const host = await tools.runners.runnerOf(await requireSession(store, approval.session));
  const caller = requireLlmAgent(
    "findAgent" in host.agent ? host.agent.findAgent(approval.agent) : undefined,
    approval.agent,
  );
  const tool = await findTool(caller, approval.toolName);
  if (!isAgentTool(tool) || !approval.innerSession) throw new Error(`${approval.toolName} is not an agent.`);
  const outer = await requireSession(store, approval.session);
  const inner = await store.openSession({
    id: approval.innerSession,
    chat: turn.chat.id,
    appName: agentOf(tool).name,
    state: outer.state,
  });
  const request = agentRequest(tool, JSON.parse(approval.input) as JsonObject);
  const fresh = (await store.events(inner.id)).length === 0;
  const progress = fresh
    ? await run(inner, { role: "user", parts: [{ text: request }] }, turn, tools, log)
    : await advance(inner, turn, tools, log);
  if (progress === "parked") return undefined;
  const settled = await executor.settle(approval, agentOutcome(tool, await loadEvents(inner, tools)));
  return isSettled(settled.state) ? settled : undefined;
}

async function requireSession(store: Store, id: string): Promise<Session> {
  const session = await store.getSession(id);
  if (!session) throw new Error(`Session ${id} is gone.`);
  return session;
}

async function loadEvents(session: Session, { sessions }: TurnTools): Promise<Event[]> {
  return (await sessions.load(session)).events;
}
