import { isToolUIPart, type UIMessage, type UIMessageChunk } from "ai";
import { FoldedMessage, isNotFound } from "../../protocol/index.ts";
import { type LogEntry, type NewLogEntry, NotOwner, type Store, type TurnOrigin } from "../../stores/index.ts";
import { interruption } from "../approval/outcome.ts";
import { describeError, type Logger } from "../support/index.ts";

export interface LogWriterOptions {
  store: Store;
  logger: Logger;
  chat: string;
  turn: string;
  /** The assistant message the turn writes to. */
  reply: string;
  origin: TurnOrigin;
  /** True when another node goes on with the turn: this one may write nothing more, also if it has the chat again. */
  isLeft: () => boolean;
}

/** How long streamed text may wait to be written together with more. */
const gatherMs = 10;
/** When to try again to write the end of a turn after the store failed. */
const retryMs = [50, 250, 1000, 4000];

type WithoutTurn<T> = T extends unknown ? Omit<T, "turn"> : never;

/** Appends the entries of one turn to the log: in order, and small pieces together. The end brings the whole message. */
export class LogWriter {
  readonly #options: LogWriterOptions;
  /** Chunks that are not written yet. */
  #buffer: UIMessageChunk[] = [];
  #scheduled: NodeJS.Timeout | undefined;
  #writtenAt = 0;
  #written: Promise<unknown> = Promise.resolve();
  #hasEnded = false;
  /** What the log has of the message. */
  #folded: FoldedMessage;

  constructor(options: LogWriterOptions) {
    this.#options = options;
    this.#folded = new FoldedMessage(options.reply);
  }

  /** Writes the first entries of the turn. */
  async begin(message: UIMessage | undefined): Promise<void> {
    const { store, chat, reply, origin } = this.#options;
    const earlier = await store.getMessage(chat, reply);
    this.#folded = new FoldedMessage(reply, earlier?.message);
    await this.#append([
      { kind: "begin", reply, origin, ...(message && { message }) },
      { kind: "chunk", chunk: { type: "start", messageId: reply } },
    ]);
  }

  /** The log has the beginning of the turn, with these chunks. */
  goOn(chunks: readonly UIMessageChunk[]): void {
    for (const chunk of chunks) this.#folded.add(chunk);
  }

  /** Appends entries. Each append follows the one before, so the log keeps their order with any store. */
  async #append(entries: readonly WithoutTurn<NewLogEntry>[]): Promise<void> {
    this.#written = this.#written.then(() => this.#appendNow(entries));
    await this.#written;
  }

  async #appendNow(entries: readonly WithoutTurn<NewLogEntry>[]): Promise<void> {
    for (const entry of await this.#appendOnce(entries)) this.#fold(entry);
  }

  async #appendOnce(entries: readonly WithoutTurn<NewLogEntry>[]): Promise<LogEntry[]> {
    const { store, chat, turn, isLeft } = this.#options;
    if (isLeft()) throw new NotOwner(chat);
    const appended = await store.append(
      chat,
      entries.map((entry) => ({ ...entry, turn })),
    );
    this.#hasEnded ||= appended.some(({ kind }) => kind === "end");
    return appended;
  }

  #fold(entry: LogEntry): void {
    if (entry.kind !== "chunk") return;
    try {
      this.#folded.add(entry.chunk);
    } catch (error) {
      const { logger, chat, turn } = this.#options;
      logger.error("A chunk does not fit its message.", { chat, turn, error: describeError(error) });
    }
  }

  /** Writes chunks, after those that are buffered. They are in the log when this returns. */
  async write(chunks: readonly UIMessageChunk[]): Promise<void> {
    this.#buffer.push(...chunks);
    await this.flush();
  }

  /**
   * Writes chunks soon. Models stream many small pieces: after a pause a piece is written at once, and pieces that follow
   * quickly are written together, because one transaction each would cost more than everything else.
   */
  writeSoon(chunks: readonly UIMessageChunk[]): void {
    this.#buffer.push(...chunks);
    const wait = this.#writtenAt + gatherMs - performance.now();
    // If the store fails here, the next awaited write fails too.
    this.#scheduled ??= setTimeout(() => void this.flush().catch(() => undefined), Math.max(0, wait));
  }

  /** Writes the buffered chunks. */
  async flush(): Promise<void> {
    clearTimeout(this.#scheduled);
    this.#scheduled = undefined;
    const chunks = this.#buffer.splice(0);
    if (chunks.length === 0) return void (await this.#written);
    this.#writtenAt = performance.now();
    await this.#append(chunks.map((chunk) => ({ kind: "chunk", chunk })));
  }

  /** True when this process has written the end of the turn. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Writes the end of the turn. Unless the reply is whole, something failed while it was being ended. */
  async end({ isWhole = true }: { isWhole?: boolean } = {}): Promise<void> {
    try {
      await this.flush();
      if (!isWhole) throw new Error("The reply has no end.");
    } catch (error) {
      return this.#endLater(error, async (folded) => [
        ...(await this.#interruptions(folded)),
        { type: "error", errorText: "The server could not store this reply to its end." },
      ]);
    }
    await this.#append([toEnd(this.#folded)]).catch((error: unknown) => this.#endLater(error, async () => []));
  }

  /** Tries again for a while after the store failed: a turn without an end would keep its readers waiting. */
  async #endLater(cause: unknown, toLast: (folded: FoldedMessage) => Promise<UIMessageChunk[]>): Promise<void> {
    const { logger, chat, turn } = this.#options;
    // Without its chat the rest of a turn has no place. If another node has taken the chat, that node continues the turn.
    const isPointless = (error: unknown) => isNotFound(error) || error instanceof NotOwner;
    if (isPointless(cause)) return;
    logger.error("Could not append the rest of a turn.", { chat, turn, error: describeError(cause) });
    for (const ms of retryMs) {
      await new Promise((resolve) => setTimeout(resolve, ms));
      try {
        const folded = await this.#readBack();
        if (!folded) return;
        const last = await toLast(folded);
        for (const chunk of last) folded.add(chunk);
        await this.#appendOnce([...last.map((chunk) => ({ kind: "chunk" as const, chunk })), toEnd(folded)]);
        return;
      } catch (error) {
        if (isPointless(error)) return;
        logger.error("Could not append the end of a turn.", { chat, turn, error: describeError(error) });
      }
    }
    throw cause;
  }

  /** Ends calls whose results may be lost and that are in no ledger. Open ones would keep a stock client from sending. */
  async #interruptions({ message }: FoldedMessage): Promise<UIMessageChunk[]> {
    const { store, chat } = this.#options;
    const parts = message?.parts.filter(isToolUIPart) ?? [];
    const open = parts.filter(({ state }) => state === "input-available").map(({ toolCallId }) => toolCallId);
    const rows = open.length > 0 ? await store.listApprovals({ chat, about: open }) : [];
    return open.filter((id) => !rows.some(({ toolCallId }) => toolCallId === id)).map(interruption);
  }

  /**
   * What the log has of the message; undefined if the turn has its end there. A store that failed may have written entries
   * all the same, and lost only its reply.
   */
  async #readBack(): Promise<FoldedMessage | undefined> {
    const { store, chat, turn, reply } = this.#options;
    const open = (await store.openTurns({ chat })).find((each) => each.turn === turn);
    if (!open) return undefined;
    const folded = new FoldedMessage(reply, (await store.getMessage(chat, reply))?.message);
    for (const entry of await store.read(chat, { after: open.sequence - 1 }))
      if (entry.turn === turn && entry.kind === "chunk") folded.add(entry.chunk);
    return folded;
  }
}

function toEnd({ message }: FoldedMessage): WithoutTurn<NewLogEntry> {
  return { kind: "end", ...(message && { message }) };
}
