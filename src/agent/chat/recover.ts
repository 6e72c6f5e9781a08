import type { Event } from "@google/adk";
import { isToolUIPart, type UIMessage, type UIMessageChunk } from "ai";
import { foldMessage, isSettled } from "../../protocol/index.ts";
import type { Approval, LogEntry, NewLogEntry, Session, Store } from "../../stores/index.ts";
import { awaitsModel, callsWithResponse, lastContent, openCalls, unknownCalls } from "../adk/history.ts";
import { storesMessage } from "../adk/new-events.ts";
import { interruption, isOpen, questionChunks } from "../approval/outcome.ts";
import { continuesUnattended } from "../conversation/index.ts";
import { isLastChunk } from "../log/read-turn.ts";
import { describeError, type Logger } from "../support/index.ts";

/** A reply that a crash cut off, and that is to be continued. */
export interface Interrupted {
  reply: string;
  /** Whose message it is for, if that is known. */
  actor?: string | undefined;
  /** The user's message, if the model has said nothing about it that stays. It is said again. */
  message?: UIMessage;
}

export interface RecoveryContext {
  store: Store;
  logger: Logger;
  /** Stores a user's message in the model's history unless it is there. */
  keepMessage: (message: UIMessage, chat: Session) => Promise<void>;
}

/** A reply that was cut off longer ago is not continued: the user may no longer want it. */
const continueMs = 5 * 60_000;
/** A reply that was cut off so often is not continued: it may be what ends the process. */
const maxInterruptions = 3;

/**
 * Ends the turns that a crash, or a node that died, left open in the log of a chat, so that readers see complete messages.
 * What happens depends on how far the turn was:
 *
 *   a question was held                  it is shown, with the same id
 *   the model had finished               the reply ends
 *   a reply by request was interrupted   its unfinished text is withdrawn; it will run again
 *   a reply of a live model              says that it was interrupted: a live model needs a connected client
 *
 * Returns the reply to continue, if there is one.
 */
export async function closeOpenTurns(session: Session, context: RecoveryContext): Promise<Interrupted | undefined> {
  const { store, logger } = context;
  const chat = session.id;
  let interrupted: Interrupted | undefined;
  for (const { turn, sequence } of await store.openTurns({ chat })) {
    let toContinue: Interrupted | undefined;
    const log = (await store.read(chat, { after: sequence - 1 })).filter((entry) => entry.turn === turn);
    const [begin] = log;
    if (begin?.kind !== "begin") continue;
    const { reply, origin } = begin;
    const written = chunksOf(log);
    const earlier = (await store.getMessage(chat, reply))?.message;
    const rows = await store.listApprovals({ chat, messageId: reply });
    const waiting = rows.filter(isOpen);
    const events = (await store.events(chat)).map(({ event }) => event as unknown as Event);
    const step = openStepOf(written);
    const unanswered = unansweredCalls(written, rows);

    const onError = (error: unknown) =>
      logger.error("A chunk does not fit its message.", { chat, turn, error: describeError(error) });
    const entries: NewLogEntry[] = [];
    const write = (...chunks: UIMessageChunk[]) =>
      entries.push(...chunks.map((chunk) => ({ turn, kind: "chunk" as const, chunk })));
    const closeStep = (...last: UIMessageChunk[]) => {
      if (step?.part) write(step.part);
      if (!step && last.length > 0) write({ type: "start-step" });
      write(...last, ...unanswered.map(interruption));
      if (step || last.length > 0) write({ type: "finish-step" });
    };

    const isOver = written.some(({ chunk }) => isLastChunk(chunk));
    const isFinished = events.length > 0 && !awaitsModel(events) && openCalls(events).length === 0;
    // Logs of older releases do not say how the model was talked to. There only continuations go on.
    const goesOn = (origin ?? earlier) !== undefined && continuesUnattended(rows, origin?.mode);
    if (isOver) {
      // Only the end entry is missing.
    } else if (waiting.length > 0) {
      closeStep(...unshownQuestions(waiting, written, earlier));
      write({ type: "finish", finishReason: "tool-calls" });
    } else if (step && isFinished) {
      closeStep();
      write({ type: "finish", finishReason: "stop" });
    } else if (goesOn && (await mayContinue(store, chat, log))) {
      if (begin.message) await context.keepMessage(begin.message, session);
      // Text without a call is generated again. A step with calls stays: the calls have happened.
      if (step && !step.hasCalls) entries.push({ turn, kind: "withdraw", from: step.sequence });
      else closeStep();
      const isUnanswered = begin.message && !isAnswered(begin.message, events);
      toContinue = { reply, actor: origin?.actor, ...(isUnanswered && { message: begin.message }) };
    } else {
      closeStep();
      const again = begin.message ? " Please send your message again." : "";
      write({ type: "error", errorText: `The server stopped in the middle of this reply.${again}` });
    }
    const message = foldMessage(reply, remaining(log, entries), { message: earlier, onError });
    try {
      await store.append(chat, [...entries, { turn, kind: "end", ...(message && { message }) }]);
    } catch (error) {
      // What ran the turn here may have ended it meanwhile: it tries for a while if the store is away.
      if ((await store.openTurns({ chat })).some((open) => open.turn === turn)) throw error;
      continue;
    }
    interrupted = toContinue ?? interrupted;
    await markTold(rows, store);
  }
  return interrupted;
}

/** True if the history has something that came after the message. */
function isAnswered(message: UIMessage, events: readonly Event[]): boolean {
  const last = lastContent(events);
  return events.some((event) => storesMessage(event, message)) && last !== undefined && !storesMessage(last, message);
}

/** True if the reply was cut off a short time ago, and not for the last time of many. */
async function mayContinue(store: Store, chat: string, log: readonly LogEntry[]): Promise<boolean> {
  const { at = 0, turn } = log.at(-1) ?? {};
  if (at + continueMs < store.now()) return false;
  const [begin] = log;
  const reply = begin?.kind === "begin" ? begin.reply : undefined;
  const message = await store.lastMessage(chat, "user");
  const cutOff = new Set<string>();
  for (const entry of await store.read(chat, { after: (message?.sequence ?? 1) - 1 })) {
    if (entry.kind === "begin" && entry.reply === reply && entry.turn !== turn) cutOff.add(entry.turn);
    else if (entry.kind === "chunk" && isLastChunk(entry.chunk)) cutOff.delete(entry.turn);
  }
  return cutOff.size + 1 < maxInterruptions;
}

/**
 * Agents run as tools whose calls are all settled: the turn that was to run them was interrupted or had not begun. No turn
 * goes on with one that is `lost`: the history has a response to its call, or has no such call any more.
 */
export async function unattendedAgents(store: Store): Promise<{ row: Approval; isLost: boolean }[]> {
  const unattended: { row: Approval; isLost: boolean }[] = [];
  for (const row of await store.listApprovals({ state: "approved" })) {
    if (row.innerSession === undefined) continue;
    const inner = await store.listApprovals({ session: row.innerSession });
    if (!inner.every(({ state }) => isSettled(state))) continue;
    const events = (await store.events(row.session)).map(({ event }) => event as unknown as Event);
    unattended.push({ row, isLost: !openCalls(events).some(({ call }) => call.id === row.toolCallId) });
  }
  return unattended;
}

/** Marks outcomes that the history has as told. The process may have died before it could. */
async function markTold(rows: readonly Approval[], store: Store): Promise<void> {
  for (const { id, session, toolCallId, state, told } of rows) {
    if (told || !isSettled(state)) continue;
    const events = (await store.events(session)).map(({ event }) => event as unknown as Event);
    if (callsWithResponse(events).has(toolCallId) && !unknownCalls(events).has(toolCallId))
      await store.markTold(id, state);
  }
}

/** Questions that the log does not show. The call itself may be missing too: an agent's call is shown with its question. */
function unshownQuestions(
  waiting: readonly Approval[],
  written: readonly Written[],
  earlier: UIMessage | undefined,
): UIMessageChunk[] {
  const calls = earlier?.parts.filter(isToolUIPart) ?? [];
  const asked = new Set([
    ...calls.map(({ approval }) => approval?.id),
    ...written.map(({ chunk }) => (chunk.type === "tool-approval-request" ? chunk.approvalId : undefined)),
  ]);
  const called = new Set([
    ...calls.map(({ toolCallId }) => toolCallId),
    ...written.map(({ chunk }) => (chunk.type === "tool-input-available" ? chunk.toolCallId : undefined)),
  ]);
  return waiting
    .filter((row) => row.gated && row.decidedAt === undefined && !asked.has(row.id))
    .flatMap((row): UIMessageChunk[] => {
      const { toolCallId, toolName } = row;
      if (called.has(toolCallId)) return questionChunks(row);
      const input = JSON.parse(row.input) as unknown;
      return [
        { type: "tool-input-start", toolCallId, toolName },
        { type: "tool-input-available", toolCallId, toolName, input },
        ...questionChunks(row),
      ];
    });
}

/** Shown calls without a row and without a result. Open calls would keep a stock client from sending. */
function unansweredCalls(written: readonly Written[], rows: readonly Approval[]): string[] {
  const open = new Set<string>();
  for (const { chunk } of written) {
    if (chunk.type === "tool-input-available") open.add(chunk.toolCallId);
    else if (chunk.type === "tool-output-available" || chunk.type === "tool-output-error")
      open.delete(chunk.toolCallId);
  }
  for (const { toolCallId } of rows) open.delete(toolCallId);
  return [...open];
}

/** The chunks of a turn that remain after what was withdrawn, with those that are about to be added. */
function remaining(log: readonly LogEntry[], added: readonly NewLogEntry[]): UIMessageChunk[] {
  const from = Math.min(...[...log, ...added].map((entry) => (entry.kind === "withdraw" ? entry.from : Infinity)));
  const kept = log.filter(({ sequence }) => sequence < from);
  return [...kept, ...added].flatMap((entry) => (entry.kind === "chunk" ? [entry.chunk] : []));
}

interface Written {
  sequence: number;
  chunk: UIMessageChunk;
}

function chunksOf(entries: readonly LogEntry[]): Written[] {
  return entries.flatMap((entry) => (entry.kind === "chunk" ? [entry] : []));
}

/** The last step that has not ended: where it began, whether it has calls, and the chunk that closes its open part. */
function openStepOf(
  written: readonly Written[],
): { sequence: number; hasCalls: boolean; part?: UIMessageChunk } | undefined {
  let step: { sequence: number; hasCalls: boolean; part?: UIMessageChunk } | undefined;
  for (const { chunk, sequence } of written) {
    if (chunk.type === "start-step") step = { sequence, hasCalls: false };
    else if (chunk.type === "finish-step") step = undefined;
    else if (step && chunk.type === "tool-input-available") step.hasCalls = true;
    else if (step && chunk.type === "text-start") step.part = { type: "text-end", id: chunk.id };
    else if (step && chunk.type === "reasoning-start") step.part = { type: "reasoning-end", id: chunk.id };
    else if (step && (chunk.type === "text-end" || chunk.type === "reasoning-end")) delete step.part;
  }
  return step;
}
