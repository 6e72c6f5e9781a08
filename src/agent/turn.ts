import { type Event, isAgentTool, type Runner, SequentialAgent, StreamingMode } from "@google/adk";
import type { Content, Part } from "@google/genai";
import type { UIMessage } from "ai";
import { isSettled } from "../protocol/index.ts";
import { AlreadyAnswered, type Approval, type JsonObject, type Session, type Store } from "../stores/index.ts";
import { abortable, stepThrough } from "./abortable.ts";
import { agentOf, agentOutcome, agentRequest } from "./agents.ts";
import { findTool, requireLlmAgent } from "./executor.ts";
import type { Gate, Run } from "./gate.ts";
import { heal, type HistoryTools, tellable, tellLateOutcomes } from "./heal.ts";
import { awaitsModel, keptResults, openCalls } from "./history.ts";
import type { Logger } from "./logger.ts";
import { messageToContent } from "./message-to-content.ts";
import { dataApproval, interruptedResponse, outcomeChunks } from "./outcome.ts";
import type { Runners } from "./runners.ts";
import { type Progress, TurnLog } from "./turn-log.ts";

/**
 * A turn: what the agent does for one input, a message or the settling of calls it had asked about. It belongs to the
 * chat and not to a connection, and writes chunks to the chat's log; whoever wants to see them reads the log.
 *
 * Read `runTurn` from top to bottom. Resuming is not a second path: a decision enters where a message does.
 */
export interface Turn {
  id: string;
  chat: Session;
  /** The assistant message this turn writes to; a continuation repeats the id of the message it continues. */
  reply: string;
  input: TurnInput;
  signal: AbortSignal;
}

export type TurnInput =
  | { kind: "message"; message: UIMessage; /** False where the log shows the message already. */ record: boolean }
  | {
      kind: "settled";
      /** The rows that were answered, expired or recovered. */
      approvals: readonly string[];
      /** What the client that sent the answers believes it said; absent where nobody's chat said anything. */
      answered?: ReadonlyMap<string, boolean>;
      /** `false` shows the outcomes and leaves the model alone; `"nudge"` also repeats a model call that a crash cut off. */
      model: boolean | "nudge";
    };

export interface TurnTools extends HistoryTools {
  gate: Gate;
  logger: Logger;
  maxLlmCalls: number;
  modelName: string;
  agentTools: ReadonlySet<string>;
  runners: Runners;
}

/** Stops a turn because its server ends: it stays open in the log, and the next start goes on with it as after a crash. */
export const serverCloses = new Error("The server is stopping.");

export async function runTurn(turn: Turn, tools: TurnTools): Promise<void> {
  const { chat, input, id, reply } = turn;
  const isMessage = input.kind === "message";
  const message = isMessage && input.record ? input.message : undefined;
  const log = new TurnLog({ ...tools, chat: chat.id, turn: id, reply, message, owesAnswer: isMessage });
  await log.begin();
  try {
    let progress: Progress;
    if (input.kind === "message") {
      for (const approval of await heal(chat, tools)) await log.write(dataApproval(approval));
      await tellLateOutcomes(chat, tools);
      progress = await run(chat, messageToContent(input.message), turn, tools, log, { message: input.message.id });
    } else {
      await showOutcomes(input, turn, tools, log);
      await tellLateOutcomes(chat, tools);
      progress = input.model === false ? "parked" : await advance(chat, turn, tools, log);
    }
    await log.finish(progress);
  } catch (error) {
    if (turn.signal.reason === serverCloses) return;
    if (turn.signal.aborted) {
      await stopAgents(turn, tools, log);
      await log.abort();
    } else await log.fail(error);
  } finally {
    if (turn.signal.reason !== serverCloses) await log.end();
  }
}

/** Executes what was approved, and shows what became of each answered call. */
async function showOutcomes(input: TurnInput & { kind: "settled" }, { signal }: Turn, tools: TurnTools, log: TurnLog) {
  const waiting: Approval[] = [];
  for (const id of input.approvals) {
    let approval = await tools.store.getApproval(id);
    if (!approval) continue;
    const waits = approval.external && approval.state === "approved";
    if (approval.decidedAt !== undefined && approval.state !== "denied" && !waits)
      await log.write(dataApproval({ ...approval, state: "approved", outcome: undefined }));
    if (!approval.external && (approval.state === "approved" || approval.state === "executing")) {
      const attempt = tools.executor.attempt(id) ?? tools.executor.execute(approval);
      await log.write(dataApproval({ ...approval, state: "executing" }));
      approval = await abortable(attempt, signal);
    }
    if (!isSettled(approval.state)) waiting.push(approval);
    else if (approval.innerSession) await log.showInner(approval, input.answered?.get(id));
    else await log.write(outcomeChunks(approval, input.answered?.get(id)));
  }
  // A yes to a browser tool settles nothing yet. A step of its own keeps stock chats from sending the answer again.
  if (waiting.length > 0) await log.writeStep(waiting.flatMap(dataApproval));
}

/**
 * Goes on where a session waits: when every call of its open step is settled, the model gets all their responses at once,
 * in the order of the calls. Agents run as tools are sessions of their own, so this descends into them first.
 */
async function advance(session: Session, turn: Turn, tools: TurnTools, log: TurnLog): Promise<Progress> {
  const { store } = tools;
  const events = await loadEvents(session, tools);
  const last = openCalls(events).at(-1)?.event;
  if (!last) {
    const nudge = turn.input.kind === "settled" && turn.input.model === "nudge" && awaitsModel(events);
    return nudge ? run(session, { role: "user", parts: [{ text: "" }] }, turn, tools, log) : "done";
  }
  const open = openCalls(events).filter(({ event }) => event.id === last.id);
  const rows = new Map((await store.listApprovals({ session: session.id })).map((row) => [row.toolCallId, row]));
  for (const { call } of open) {
    const row = rows.get(call.id);
    if (!row?.innerSession || row.state !== "approved") continue;
    await runInner(row, turn, tools, log);
    const settled = await store.getApproval(row.id);
    if (!settled) continue;
    rows.set(call.id, settled);
    if (isSettled(settled.state)) await log.showInner(settled);
  }
  const asked = open.flatMap(({ call }) => rows.get(call.id) ?? []);
  if (asked.some(({ state }) => !isSettled(state))) return "parked";

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
      progress = await run(session, { role: "user", parts: [{ text: "" }] }, turn, tools, log, { runner: sibling });
      if (progress === "parked") return progress;
    }
  }
  return "done";
}

/** One ADK run: its events become chunks, a held call parks it. */
async function run(
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
    messageId: turn.reply,
    paused: false,
    onEvent: () => log.flush(),
    onHeld: async (approval) => {
      turn.signal.throwIfAborted();
      await log.ask(approval);
    },
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
    for await (const event of stepThrough(events, turn.signal)) await log.event(event, inner);
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
async function runInner(approval: Approval, turn: Turn, tools: TurnTools, log: TurnLog) {
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

/** A stop ends the agents run as tools that are at work in this turn; one that waits for a person goes on waiting. */
async function stopAgents({ chat, reply }: Turn, { store }: TurnTools, log: TurnLog): Promise<void> {
  for (const row of await store.listApprovals({ chat: chat.id, state: "approved" })) {
    if (row.innerSession === undefined || row.messageId !== reply) continue;
    const inner = await store.listApprovals({ session: row.innerSession });
    if (inner.some(({ state }) => state === "pending")) continue;
    const { moved, approval } = await store.move(row.id, { event: "cancel" });
    if (moved && approval) await log.showInner(approval);
  }
}

async function requireSession(store: Store, id: string): Promise<Session> {
  const session = await store.getSession(id);
  if (!session) throw new Error(`Session ${id} is gone.`);
  return session;
}

async function loadEvents(session: Session, { sessions }: TurnTools): Promise<Event[]> {
  return (await sessions.load(session)).events;
}
