import type { UIMessageChunk } from "ai";
import type { LogEntry } from "../../agent/index.ts";
import { OpenQuestions } from "./open-questions.ts";

/** What a client of the chat wire is told, before it becomes text. */
export type ChatOutput =
  | { kind: "turn"; turn: string; reply: string; sequence: number }
  | { kind: "chunk"; chunk: UIMessageChunk; sequence?: number | undefined }
  | {
      kind: "parked";
      turn: string;
      sequence: number;
      /** False if the turn wrote something after its last step, or had no step. */
      endsWithStep: boolean;
    }
  /** The messages from this one on were withdrawn. */
  | { kind: "withdrawn"; turn: string; from: string; sequence: number }
  | { kind: "done"; sequence?: number | undefined };

interface SentTurn {
  id: string;
  reply: string;
  /** True if it continues the message that the previous turn left open. */
  resumes: boolean;
  /** The end of the turn, if the turn waits. It is left out, unless the client cannot act before it. */
  parked?: UIMessageChunk;
  last?: string;
}

export interface TurnJoinerOptions {
  /**
   * True for a client that recognises a turn that waits only by its question. If no question is open (a browser tool or
   * a long-running tool waits for its result), such a client acts only after the end of the turn, so it gets the end.
   */
  waitsForQuestionsOnly: boolean;
}

/**
 * Joins the turns of a reply. In the log a turn that asks ends, and the answer begins another turn with the same message
 * id. A socket gets the first without its end and the second without its beginning, as one message that goes on.
 */
export class TurnJoiner {
  readonly #questions: OpenQuestions | undefined;
  #turn: SentTurn | undefined;
  /** The message that the last turn left open. */
  #parked: string | undefined;

  constructor({ waitsForQuestionsOnly }: TurnJoinerOptions = { waitsForQuestionsOnly: false }) {
    this.#questions = waitsForQuestionsOnly ? new OpenQuestions() : undefined;
  }

  /** True between the beginning of a turn and its end, when no chunk of another turn may be sent. */
  get isSending(): boolean {
    return this.#turn !== undefined;
  }

  /** What the client is told about an entry; `chunks` is the client's view of the entry's chunk. */
  next(entry: LogEntry, chunks: readonly UIMessageChunk[] = []): ChatOutput[] {
    const { turn, sequence } = entry;
    switch (entry.kind) {
      case "begin": {
        const { reply } = entry;
        const outputs: ChatOutput[] = this.#turn ? [{ kind: "done" }] : [];
        this.#turn = { id: turn, reply, resumes: this.#parked === reply };
        this.#parked = undefined;
        return [...outputs, { kind: "turn", turn, reply, sequence }];
      }
      case "chunk":
        // A turn that began before this socket read the log cannot be followed.
        if (this.#turn?.id !== turn) return [];
        for (const chunk of chunks) this.#questions?.take(chunk, this.#turn.reply);
        return sendChunks(this.#turn, chunks, sequence);
      case "withdraw":
        if (entry.message === undefined) return [];
        this.#parked = undefined;
        return [{ kind: "withdrawn", turn, from: entry.message, sequence }];
      case "end": {
        if (this.#turn?.id !== turn) return [];
        const { parked, reply, last } = this.#turn;
        this.#turn = undefined;
        this.#parked = undefined;
        if (!parked) {
          // Without a last chunk the turn was cut off by a crash. Another turn makes the reply again.
          const isCut = last !== "finish" && last !== "error" && last !== "abort";
          const withdrawn: ChatOutput[] = isCut ? [{ kind: "withdrawn", turn, from: reply, sequence }] : [];
          return [...withdrawn, { kind: "done", sequence }];
        }
        if (this.#questions && !this.#questions.hasOf(reply))
          return [
            { kind: "chunk", chunk: parked },
            { kind: "done", sequence },
          ];
        this.#parked = reply;
        return [{ kind: "parked", turn, sequence, endsWithStep: last === "finish-step" }];
      }
      default:
        // Another node may run a later release, which knows other kinds.
        return [];
    }
  }
}

function sendChunks(turn: SentTurn, chunks: readonly UIMessageChunk[], sequence: number): ChatOutput[] {
  return chunks.flatMap((chunk, index): ChatOutput[] => {
    if (chunk.type === "start" && turn.resumes && chunk.messageId === turn.reply) return [];
    turn.parked = chunk.type === "finish" && chunk.finishReason === "tool-calls" ? chunk : undefined;
    if (turn.parked) return [];
    turn.last = chunk.type;
    // Only the last has the number, so that a cut before it repeats all of them.
    return [{ kind: "chunk", chunk, ...(index === chunks.length - 1 && { sequence }) }];
  });
}
