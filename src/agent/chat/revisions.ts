import type { Event } from "@google/adk";
import type { UIMessage, UIMessageChunk } from "ai";
import { type EffectClass, isSettled } from "../../protocol/index.ts";
import type { Approval, JsonObject, NewEvent, Session, StoredEvent, TurnOrigin } from "../../stores/index.ts";
import { metadataOf } from "../adk/event-metadata.ts";
import { awaitsModel, callsOf, responsesOf } from "../adk/history.ts";
import type { ToolCalls } from "../adk/tool-calls.ts";
import { callInSession, cancelFamily, willRun } from "../approval/family.ts";
import { type Cut, cutHistory, type CutHistory, effectNotes } from "../conversation/index.ts";
import { dataApproval } from "../approval/outcome.ts";
import { keptChunks } from "../log/kept-chunks.ts";
import { shownIds } from "../log/settle-message.ts";
import { newId } from "../support/index.ts";
import type { TurnContext } from "../turn.ts";
import type { TurnInput } from "../turn-input.ts";
import type { ChatQueue, QueuedTurn } from "./chat-queue.ts";
import type { ChatTurns } from "./chat-turns.ts";
import { type MessageCut, type ReplyCut, wholeReply } from "./find-cut.ts";

export interface RevisionsContext extends TurnContext {
  turns: ChatTurns;
  calls: Pick<ToolCalls, "isClientCall">;
  /** The effect class of a tool whose calls have no row. */
  effectOf: (toolName: string) => EffectClass;
}

/**
 * Edits of messages, and replies that are made again. Both withdraw a part of the chat: its messages, the model's memory of
 * them, and the questions that wait there. One transaction does all of that and begins the new turn, so that page and model
 * agree wherever the process dies. Call it when no turn of the chat runs.
 */
export class Revisions {
  readonly #context: RevisionsContext;

  constructor(context: RevisionsContext) {
    this.#context = context;
  }

  /** Replaces a part of the chat by a new message. */
  async edit(queue: ChatQueue, cut: MessageCut, message: UIMessage, origin: TurnOrigin): Promise<QueuedTurn> {
    const { chat } = queue;
    const reply = newId("msg");
    const rows = await this.#cancel(chat, cut);
    const stored = await this.#context.store.events(chat.id);
    const history = cutHistory(stored, { withdrawn: idsOf(cut), callerOf: callersIn(chat.id, rows) });
    const input = { kind: "message", message, record: true } as const;
    return this.#begin(queue, { cut, history, rows, reply, input, message, chunks: [], origin });
  }

  /** Makes a reply again: the calls that have run stay with their results, the words are made again. */
  async again(queue: ChatQueue, wanted: ReplyCut, origin: TurnOrigin): Promise<QueuedTurn> {
    const { store } = this.#context;
    const { chat } = queue;
    const reply = newId("msg");
    const stored = await store.events(chat.id);
    const cut = canContinue(stored, wanted) ? wanted : await wholeReply(store, chat.id, wanted);
    const rows = await this.#cancel(chat, cut);
    const message = cut.message.message;
    const byCall = new Map(rows.filter(({ session }) => session === chat.id).map((row) => [row.toolCallId, row]));
    const keeps = ({ id }: { id: string }) => !byCall.has(id) || hasRun(byCall.get(id));
    const isWhole = cut.before?.message.id === message.id;
    const history = cutHistory(stored, {
      withdrawn: idsOf(cut),
      callerOf: callersIn(chat.id, rows),
      ...(isWhole && { after: message.id }),
      remade: { messages: repliesOf(cut), reply, keeps },
    });
    // Without calls that stay, the message is said again.
    const isSaid = isWhole && history.kept.length === 0;
    if (isSaid) history.leaving.push(...positionsOf(stored, message.id));
    const input: TurnInput = isSaid ? { kind: "message", message, record: false } : { kind: "again" };
    const chunks = await this.#keptChunks(chat, cut, history, rows);
    return this.#begin(queue, { cut, history, rows, reply, input, message, chunks, origin });
  }

  /** Cancels what waits in the withdrawn messages and has not started. Returns all rows of the chat afterwards. */
  async #cancel(chat: Session, cut: MessageCut): Promise<Approval[]> {
    const { store } = this.#context;
    const withdrawn = idsOf(cut);
    for (const row of await store.listApprovals({ chat: chat.id }))
      if (withdrawn.has(row.messageId) && (row.state === "pending" || row.state === "approved"))
        await cancelFamily(row, store);
    return store.listApprovals({ chat: chat.id });
  }

  async #begin(queue: ChatQueue, revision: Revision): Promise<QueuedTurn> {
    const { store, turns, conversations } = this.#context;
    const { cut, history, rows, reply, input, message, chunks, origin } = revision;
    const chat = queue.chat.id;
    const withdrawn = idsOf(cut);
    const kept = new Set(history.kept.map(({ call }) => call.id));
    const isKept = (row: Approval) => kept.has(callInSession(row, chat, rows)?.toolCallId ?? "");
    const concerned = rows.filter((row) => withdrawn.has(row.messageId));
    const notes = await effectNotes(history.removed, rows, chat, this.#context);
    // A model that listens between turns remembers what is withdrawn.
    await conversations.close(chat);
    const turn = newId("turn");
    const after = await store.lastSequence(chat);
    const repeated = await this.#repeatedNotices(chat, cut, rows);
    const begun: UIMessageChunk[] = [{ type: "start", messageId: reply }, ...repeated, ...chunks];
    const [first] = cut.withdrawn;
    await store.append(
      chat,
      [
        ...(first
          ? [{ turn: newId("turn"), kind: "withdraw" as const, from: first.sequence, message: first.message.id }]
          : []),
        { turn, kind: "begin", reply, message, origin },
        ...begun.map((chunk) => ({ turn, kind: "chunk" as const, chunk })),
      ],
      {
        events: history.leaving,
        put: [...history.changed, ...notes].map(toNewEvent),
        closed: concerned.filter((row) => !isKept(row) && isSettled(row.state)).map(({ id }) => id),
        moved: { rows: concerned.filter(isKept).map(({ id }) => id), messageId: reply },
      },
    );
    const { mode, actor } = origin;
    return turns.enqueue(queue, { reply, input, mode, actor, begun: { id: turn, after, chunks: begun } });
  }

  /** What the withdrawn messages told of calls in messages that stay. Without it a client shows such a question as open. */
  async #repeatedNotices(chat: string, cut: MessageCut, rows: readonly Approval[]): Promise<UIMessageChunk[]> {
    const withdrawn = idsOf(cut);
    const told = new Set(cut.withdrawn.flatMap(({ message }) => shownIds(message)));
    const notices: UIMessageChunk[] = [];
    for (const row of rows)
      if (
        told.has(row.id) &&
        !withdrawn.has(row.messageId) &&
        (await this.#context.store.getMessage(chat, row.messageId))
      )
        notices.push(...dataApproval(row));
    return notices;
  }

  async #keptChunks(
    chat: Session,
    { withdrawn }: ReplyCut,
    { kept }: CutHistory,
    rows: readonly Approval[],
  ): Promise<UIMessageChunk[]> {
    const { calls, store } = this.#context;
    const ids = new Set(kept.map(({ call }) => call.id));
    const own = rows.filter((row) => ids.has(callInSession(row, chat.id, rows)?.toolCallId ?? ""));
    const client = new Set<string>();
    for (const row of own) if (row.external && (await calls.isClientCall(row))) client.add(row.toolCallId);
    const inner = new Set<string>();
    for (const { innerSession } of own)
      for (const { event } of innerSession === undefined ? [] : await store.events(innerSession))
        for (const { id } of callsOf(event as unknown as Event)) inner.add(id);
    return keptChunks({
      messages: withdrawn.map(({ message }) => message),
      calls: kept.map(({ call: { id, name, args }, response, step }) => ({ id, name, input: args, response, step })),
      ...{ inner, rows: own, client },
    });
  }
}

interface Revision {
  cut: MessageCut;
  history: CutHistory;
  rows: readonly Approval[];
  reply: string;
  input: TurnInput;
  /** The user's message that the turn replies to. */
  message: UIMessage;
  /** What the reply shows first. */
  chunks: readonly UIMessageChunk[];
  origin: TurnOrigin;
}

function idsOf({ withdrawn }: MessageCut): Cut["withdrawn"] {
  return new Set(withdrawn.map(({ message: { id } }) => id));
}

/** For the id of a call that an agent run as a tool has made: the id of that agent's call in the chat's own history. */
function callersIn(chat: string, rows: readonly Approval[]): (callId: string) => string | undefined {
  const callers = new Map(rows.map((row) => [row.toolCallId, callInSession(row, chat, rows)?.toolCallId]));
  return (callId) => callers.get(callId);
}

/** The messages of the reply itself: those before the user's next one. */
function repliesOf({ withdrawn }: MessageCut): ReadonlySet<string> {
  const next = withdrawn.findIndex(({ message: { role } }) => role === "user");
  return new Set((next < 0 ? withdrawn : withdrawn.slice(0, next)).map(({ message: { id } }) => id));
}

/** True for a call that has run, runs or will run. An agent that is run as a tool counts when it has ended. */
function hasRun(row: Approval | undefined): boolean {
  const { state, innerSession } = row ?? {};
  const isRunning = state === "executing" || state === "waiting" || (row !== undefined && willRun(row));
  return (isRunning && innerSession === undefined) || ["succeeded", "failed", "indeterminate"].includes(state ?? "");
}

/**
 * True when the model can be asked for a message that is not the first reply to the user's message: what stays must end with
 * something to respond to. Histories of older releases do not say where such a message begins.
 */
function canContinue(stored: readonly StoredEvent[], { message, before, withdrawn }: ReplyCut): boolean {
  if (before?.message.id === message.message.id) return true;
  const events = stored.map(({ event }) => event as unknown as Event);
  const first = events.findIndex((event) => metadataOf(event).reply === withdrawn[0]?.message.id);
  return first > 0 && awaitsModel(events.slice(0, first));
}

function positionsOf(stored: readonly StoredEvent[], message: string): number[] {
  return stored.flatMap(({ position, event }) =>
    metadataOf(event as unknown as Event).message === message ? [position] : [],
  );
}

function toNewEvent(event: Event): NewEvent {
  const responses = responsesOf(event).flatMap(({ id }) => id ?? []);
  return { id: event.id, event: JSON.parse(JSON.stringify(event)) as JsonObject, responses };
}
