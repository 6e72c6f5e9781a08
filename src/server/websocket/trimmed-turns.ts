import type { UIMessage, UIMessageChunk } from "ai";
import type { Bridge, LogEntry } from "../../agent/index.ts";
import { type Confirmation, messagesInDialect } from "../views/index.ts";

/** Who reads. */
interface Reader {
  bridge: Pick<Bridge, "message" | "resume" | "approvals">;
  owner: string;
  confirmation: Confirmation;
}

/** An entry to send. A chunk that was made here is in no log, so it has no number. */
interface Filled {
  entry: LogEntry;
  isMade?: true;
  /** Follows the `start`: the message as it is now. */
  replay?: UIMessage;
}

/** What is known about a message that was sent whole. */
interface Replayed {
  /** The last entry of the log then. */
  sequence: number;
  /** The turn that was being generated, of which the message has nothing. */
  running: string | undefined;
}

interface Gaps {
  /** By message. */
  replayed: Map<string, Replayed>;
  /** Turns of which no chunk is sent any more, and those of which only the last one is. */
  silent: Set<string>;
  shortened: Set<string>;
}

type Begin = LogEntry & { kind: "begin" };

const lastChunks: ReadonlySet<string> = new Set(["finish", "error", "abort"]);

/**
 * Fills the gaps of a log whose older chunks were removed. A turn without its chunks is sent as its whole message, as it
 * is now; later turns of that message are in it already. A client that has a part of the message cannot be given only
 * the rest, so the turn ends with an error that says so.
 */
export class TrimmedTurns {
  readonly #reader: Reader;
  readonly #chat: string;
  /** The last entry that the client has. */
  readonly #seen: number;
  /** The last entry, or the last one that the client has. */
  #previous: number;
  #begin: Begin | undefined;
  #isStart = false;
  /** What was done about gaps, made for the first one: most readers never meet one. */
  #gaps: Gaps | undefined;

  /** `seen` is the last entry that the client has, and `after` the one after which the log is read. */
  constructor(reader: Reader, { chat, seen, after }: { chat: string; seen: number; after: number }) {
    this.#reader = reader;
    this.#chat = chat;
    this.#seen = seen;
    this.#previous = Math.max(after, seen);
  }

  /** An entry that is not sent. */
  skip(entry: LogEntry): void {
    this.#previous = Math.max(this.#previous, entry.sequence);
    if (entry.kind === "begin") this.#begin = entry;
  }

  /** What to send for an entry. Every entry is passed to this or to `skip`, in order. */
  async fill(entry: LogEntry): Promise<Filled[]> {
    const { turn, sequence } = entry;
    const isGap = sequence > this.#previous + 1;
    const lacksStart = this.#isStart && !(entry.kind === "chunk" && entry.chunk.type === "start");
    this.skip(entry);
    this.#isStart = entry.kind === "begin";
    if (entry.kind === "begin") {
      const whole = this.#gaps?.replayed.get(entry.reply);
      if (whole && turn !== whole.running && sequence <= whole.sequence) this.#gaps?.shortened.add(turn);
      return [{ entry }];
    }
    const begin = this.#begin?.turn === turn ? this.#begin : undefined;
    const isSilent = this.#gaps?.silent.has(turn);
    const isShortened = this.#gaps?.shortened.has(turn);
    if (begin && !isSilent && !isShortened && (isGap || lacksStart)) return this.#replay(entry, begin);
    if (entry.kind !== "chunk") return [{ entry }];
    if (isSilent) return [];
    return isShortened && !lastChunks.has(entry.chunk.type) ? [] : [{ entry }];
  }

  async #replay(entry: LogEntry, begin: Begin): Promise<Filled[]> {
    const made = (chunk: UIMessageChunk): LogEntry => ({ ...entry, kind: "chunk", chunk });
    const whole = await this.#readWhole(begin.reply);
    // A reply that was withdrawn.
    if (!whole) return [{ entry }];
    const gaps = (this.#gaps ??= { replayed: new Map(), silent: new Set(), shortened: new Set() });
    if (begin.sequence <= this.#seen || whole.place !== begin.sequence + 1) {
      gaps.silent.add(begin.turn);
      const error = {
        type: "error" as const,
        errorText: "Part of this reply is no longer in the log. Read the chat again.",
      };
      return [{ entry: made(error), isMade: true }, ...(entry.kind === "chunk" ? [] : [{ entry }])];
    }
    gaps.shortened.add(begin.turn);
    gaps.replayed.set(begin.reply, whole);
    const start = made({ type: "start", messageId: begin.reply });
    return [{ entry: start, isMade: true, replay: whole.message }, { entry }];
  }

  /** A message, and which turns it contains. */
  async #readWhole(id: string): Promise<(Replayed & { message: UIMessage; place: number }) | undefined> {
    const { bridge, owner, confirmation } = this.#reader;
    const chat = this.#chat;
    const position = async () => {
      const { sequence } = await bridge.approvals(owner, { chat, limit: 1 });
      return { sequence, running: (await bridge.resume(owner, chat))?.turn.id };
    };
    for (;;) {
      const before = await position();
      const found = await bridge.message(owner, chat, id);
      const after = await position();
      // No turn has begun or ended meanwhile.
      const isSame =
        before.running === after.running && (after.running !== undefined || before.sequence === after.sequence);
      if (!isSame) continue;
      const [message] = found ? messagesInDialect([found.message], confirmation, found.approvals) : [];
      return found && message && { ...before, message, place: found.place };
    }
  }
}
