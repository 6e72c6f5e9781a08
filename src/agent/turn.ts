import { createEvent, type Event, isAgentTool, type Runner, SequentialAgent, StreamingMode } from "@google/adk";
import type { Content } from "@google/genai";
import type { UIMessage, UIMessageChunk } from "ai";
import { BridgeError, isSettled } from "../protocol/index.ts";
import { AlreadyAnswered, type Approval, type JsonObject, type Session, type Store } from "../stores/index.ts";
import { abortable, stepThrough } from "./abortable.ts";
import {
  announceCall,
  type ChunkState,
  closeStep,
  countUsage,
  eventToChunks,
  initialChunkState,
  openStep,
  refusalText,
  totalUsage,
} from "./event-to-chunks.ts";
import { agentOf, agentOutcome, agentRequest } from "./agents.ts";
import { type Executor, findTool, requireLlmAgent } from "./executor.ts";
import type { Gate, Run } from "./gate.ts";
import { awaitsModel, keptResults, openCalls, responseEvent, unknownCalls } from "./history.ts";
import { describeError, type Logger } from "./logger.ts";
import { messageToContent } from "./message-to-content.ts";
import { approvalToResponse, dataApproval, interruptedResponse, interruption, lateNote, outcomeChunks, questionChunks, runningResponse } from "./outcome.ts";

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

export interface TurnTools {
  store: Store;
  gate: Gate;
  executor: Executor;
  logger: Logger;
  maxLlmCalls: number;
  /** How long new text waits for a tool that is still running before the model is told that its outcome is not known. */
  graceMs: number;
  modelName: string;
  /** Names of the agents that are run as tools. */
  agentTools: ReadonlySet<string>;
  runnerFor(session: Session): Promise<Runner>;
  siblingRunner(session: Session, agent: SequentialAgent["subAgents"][number]): Runner;
}

type Progress = "done" | "parked";

/** Stops a turn because its server ends: it stays open in the log, and the next start goes on with it as after a crash. */
export const serverCloses = new Error("The server is stopping.");

export async function runTurn(turn: Turn, tools: TurnTools): Promise<void> {
  const log = new TurnLog(turn, tools);
  const { chat, input } = turn;
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
    if (turn.signal.aborted) await log.abort();
    else await log.fail(error);
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
    if (!row?.innerSession || (row.state !== "approved" && row.state !== "executing")) continue;
    await runInner(row, turn, tools, log);
    const settled = await store.getApproval(row.id);
    if (!settled) continue;
    rows.set(call.id, settled);
    if (isSettled(settled.state)) await log.showInner(settled);
  }
  const asked = open.flatMap(({ call }) => rows.get(call.id) ?? []);
  if (asked.some(({ state }) => !isSettled(state))) return "parked";

  const kept = keptResults(events);
  const parts = open.map(({ call: { id, name } }) => {
    const row = rows.get(id);
    const response = (row && approvalToResponse(row)) ?? kept.get(id) ?? interruptedResponse;
    return { functionResponse: { id, name, response } };
  });
  const stateDelta = Object.assign({}, ...asked.map((row) => row.stateDelta)) as Record<string, unknown>;
  let progress: Progress;
  try {
    progress = await run(session, { role: "user", parts }, turn, tools, log, { stateDelta });
  } finally {
    // Also where the model could not be reached: the history has the responses, and the next turn begins with them.
    const unanswered = new Set(openCalls(await loadEvents(session, tools)).map(({ call }) => call.id));
    for (const row of asked) if (!unanswered.has(row.toolCallId)) await store.markTold(row.id);
  }
  if (progress === "parked") return progress;

  // ADK resumes one agent of a sequence only; the ones behind it are ours to run.
  const runner = await tools.runnerFor(session);
  let agent = "findAgent" in runner.agent ? runner.agent.findAgent(last.author ?? "") : undefined;
  for (; agent?.parentAgent; agent = agent.parentAgent) {
    const { parentAgent } = agent;
    if (!(parentAgent instanceof SequentialAgent)) continue;
    for (const next of parentAgent.subAgents.slice(parentAgent.subAgents.indexOf(agent) + 1)) {
      const sibling = tools.siblingRunner(session, next);
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
  turn.signal.throwIfAborted();
  const runner = extra.runner ?? (await tools.runnerFor(session));
  const scope: Run = {
    chat: turn.chat.id,
    owner: turn.chat.owner,
    messageId: turn.reply,
    paused: false,
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
  const host = await tools.runnerFor(await requireSession(store, approval.session));
  const caller = requireLlmAgent("findAgent" in host.agent ? host.agent.findAgent(approval.agent) : undefined, approval.agent);
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

/**
 * Before new text, every call in the history gets its response: what the ledger knows, what was kept, or that it was
 * cancelled. Returns the rows this cancelled.
 */
async function heal(session: Session, tools: TurnTools): Promise<Approval[]> {
  const { store } = tools;
  const events = await loadEvents(session, tools);
  const kept = keptResults(events);
  const rows = new Map((await store.listApprovals({ session: session.id })).map((row) => [row.toolCallId, row]));
  const cancelled: Approval[] = [];
  for (const open of openCalls(events)) {
    const asked = rows.get(open.call.id);
    const left = asked && (await leaveBehind(asked, tools));
    cancelled.push(...(left?.cancelled ?? []));
    const response = left ? left.response : (kept.get(open.call.id) ?? interruptedResponse);
    const event = responseEvent(open, response, { unknown: left?.unknown ?? [], stateDelta: left?.row.stateDelta });
    try {
      await (await tools.runnerFor(session)).sessionService.appendEvent({ session: await adkSession(session, tools), event });
    } catch (error) {
      if (!(error instanceof AlreadyAnswered)) throw error;
    }
    for (const row of left?.told ?? []) await store.markTold(row.id);
  }
  return cancelled;
}

/**
 * Ends a call that new text leaves behind: what nobody has started is cancelled, what runs gets a moment to end. What an
 * agent run as a tool has done by then stands, so the model is told of it, and later of what is still `unknown`.
 */
async function leaveBehind(asked: Approval, { store, executor, graceMs }: TurnTools) {
  const cancellable = asked.state === "pending" || (asked.state === "approved" && asked.external);
  const cancelled = cancellable ? await cancel(asked, store) : [];
  const family = await withInner(asked, store);
  const attempts = family.flatMap(({ id }) => executor.attempt(id) ?? []);
  if (attempts.length > 0) await Promise.race([Promise.allSettled(attempts), later(graceMs)]);
  const [row = asked, ...inner] = await withInner(asked, store);

  const running = [row, ...inner].filter(({ state }) => !isSettled(state));
  const effects = inner.filter(({ state, innerSession }) => innerSession === undefined && state !== "denied" && state !== "cancelled" && state !== "expired");
  const calls = effects.map(({ toolName, input, state, outcome }) => ({ name: toolName, args: JSON.parse(input) as unknown, state, response: outcome }));
  return {
    row,
    cancelled,
    response: { ...(approvalToResponse(row) ?? runningResponse), ...(calls.length > 0 && { calls }) },
    unknown: running.map(({ toolCallId }) => toolCallId),
    told: [row, ...inner].filter(({ state }) => isSettled(state)),
  };
}

/** A row as it is now, and with an agent run as a tool those of its calls, and of theirs. */
async function withInner({ id }: Approval, store: Store): Promise<Approval[]> {
  const row = await store.getApproval(id);
  if (!row?.innerSession) return row ? [row] : [];
  const inner = await store.listApprovals({ session: row.innerSession });
  return [row, ...(await Promise.all(inner.map((call) => withInner(call, store)))).flat()];
}

/** Cancels a call, and with an agent run as a tool everything it waits for. */
export async function cancel(approval: Approval, store: Store): Promise<Approval[]> {
  const inner = approval.innerSession ? await store.listApprovals({ session: approval.innerSession }) : [];
  const cancelled = (await Promise.all(inner.map((row) => cancel(row, store)))).flat();
  const { moved, approval: row } = await store.move(approval.id, { event: "cancel" });
  return moved && row ? [...cancelled, row] : cancelled;
}

/**
 * Outcomes that came after the model was told "not known yet" are told as context, once: the note's id is the row's, so
 * that a crash between the note and its mark does not write a second one.
 */
async function tellLateOutcomes(session: Session, tools: TurnTools): Promise<void> {
  const { store } = tools;
  const late = (await store.listApprovals({ chat: session.id })).filter((row) => isSettled(row.state) && !row.told);
  if (late.length === 0) return;
  const events = await loadEvents(session, tools);
  const unknown = unknownCalls(events);
  const open = new Set(openCalls(events).map(({ call }) => call.id));
  for (const row of late) {
    const isUnknown = unknown.has(row.toolCallId);
    if (isUnknown) {
      const content = { role: "user", parts: [{ text: lateNote(row) }] };
      const event = createEvent({ id: `late-${row.id}`, author: "user", content });
      const { sessionService } = await tools.runnerFor(session);
      await sessionService.appendEvent({ session: await adkSession(session, tools), event });
    }
    if (isUnknown || (row.session === session.id && !open.has(row.toolCallId))) await store.markTold(row.id);
  }
}

/** What a turn has shown so far, and the only writer of its chunks. */
class TurnLog {
  readonly #turn: Turn;
  readonly #tools: TurnTools;
  #state: ChunkState = initialChunkState;
  /** Calls that were shown and have no outcome yet. */
  readonly #open = new Set<string>();

  constructor(turn: Turn, tools: TurnTools) {
    this.#turn = turn;
    this.#tools = tools;
  }

  async begin(): Promise<void> {
    const { chat, id, reply, input } = this.#turn;
    const message = input.kind === "message" && input.record ? { message: input.message } : {};
    await this.#tools.store.append(chat.id, [
      { turn: id, kind: "begin", reply, ...message },
      { turn: id, kind: "chunk", chunk: { type: "start", messageId: reply } },
    ]);
  }

  async write(chunks: readonly UIMessageChunk[]): Promise<void> {
    if (chunks.length === 0) return;
    const { chat, id } = this.#turn;
    await this.#tools.store.append(chat.id, chunks.map((chunk) => ({ turn: id, kind: "chunk", chunk })));
    for (const chunk of chunks) {
      if (chunk.type === "tool-input-available") this.#open.add(chunk.toolCallId);
      else if (chunk.type === "tool-output-available" || chunk.type === "tool-output-error") this.#open.delete(chunk.toolCallId);
    }
  }

  async event(event: Event, inner: boolean): Promise<void> {
    const { agentTools } = this.#tools;
    const [state, chunks] = eventToChunks(this.#state, event, { inner, defer: (name) => agentTools.has(name) });
    this.#state = state;
    await this.write(chunks);
  }

  /** Usage that came in no event of its own. */
  count(event: Event): void {
    this.#state = countUsage(this.#state, event);
  }

  /** Asks a person about a held call; a call that only waits for the browser is shown without a question. */
  async ask(approval: Approval): Promise<void> {
    if (!approval.gated) return;
    const [announced, chunks] = announceCall(this.#state, approval.toolCallId);
    const [state, step] = openStep(announced);
    this.#state = state;
    await this.write([...chunks, ...step, ...questionChunks(approval)]);
  }

  /** An agent run as a tool appears with its outcome, see `ChunkOptions.defer`, unless it was asked about. */
  async showInner(approval: Approval, answered?: boolean): Promise<void> {
    const { toolCallId, toolName, gated } = approval;
    const outcome = outcomeChunks(approval, answered);
    if (gated) return this.write(outcome);
    const input = JSON.parse(approval.input) as unknown;
    await this.writeStep([
      { type: "tool-input-start", toolCallId, toolName },
      { type: "tool-input-available", toolCallId, toolName, input },
      ...outcome,
    ]);
  }

  async writeStep(chunks: readonly UIMessageChunk[]): Promise<void> {
    const [opened, start] = openStep(this.#state);
    const [state, end] = closeStep(opened);
    this.#state = state;
    await this.write([...start, ...chunks, ...end]);
  }

  async finish(progress: Progress): Promise<void> {
    // After an outcome a model may have nothing to add; to a message it owes an answer.
    const isSilent = progress === "done" && this.#turn.input.kind === "message" && !this.#state.shown;
    const { error = isSilent ? refusalText() : undefined, finishReason } = this.#state;
    await this.#close();
    if (error !== undefined) return this.write([{ type: "error", errorText: error }]);
    const { modelName } = this.#tools;
    await this.write([
      {
        type: "finish",
        finishReason: progress === "parked" ? "tool-calls" : finishReason,
        messageMetadata: { usage: totalUsage(this.#state), modelVersion: modelName },
      },
    ]);
  }

  async abort(): Promise<void> {
    await this.#interrupt();
    await this.#close();
    await this.write([{ type: "abort" }]);
  }

  async fail(error: unknown): Promise<void> {
    const safe = error instanceof BridgeError;
    if (!safe) this.#tools.logger.error("A turn failed.", { chat: this.#turn.chat.id, turn: this.#turn.id, error: describeError(error) });
    await this.#interrupt();
    await this.#close();
    await this.write([{ type: "error", errorText: safe ? error.message : "Something went wrong on the server. The details are in its log." }]);
  }

  async end(): Promise<void> {
    await this.#tools.store.append(this.#turn.chat.id, [{ turn: this.#turn.id, kind: "end" }]);
  }

  /** Calls in no ledger will have no outcome; left open they would keep a stock chat from sending anything else. */
  async #interrupt(): Promise<void> {
    if (this.#open.size === 0) return;
    const rows = await this.#tools.store.listApprovals({ chat: this.#turn.chat.id });
    for (const { toolCallId } of rows) this.#open.delete(toolCallId);
    await this.write([...this.#open].map(interruption));
  }

  async #close(): Promise<void> {
    const [state, chunks] = closeStep(this.#state);
    this.#state = state;
    await this.write(chunks);
  }
}

async function requireSession(store: Store, id: string): Promise<Session> {
  const session = await store.getSession(id);
  if (!session) throw new Error(`Session ${id} is gone.`);
  return session;
}

async function adkSession(session: Session, tools: TurnTools) {
  const { sessionService, appName } = await tools.runnerFor(session);
  const loaded = await sessionService.getSession({ appName, userId: session.owner, sessionId: session.id });
  if (!loaded) throw new Error(`Session ${session.id} is gone.`);
  return loaded;
}

async function loadEvents(session: Session, tools: TurnTools): Promise<Event[]> {
  return (await adkSession(session, tools)).events;
}

/** A moment, for those who do not want to wait longer. */
export function later(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
