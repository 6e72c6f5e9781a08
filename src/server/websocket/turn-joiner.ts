import type { UIMessageChunk } from "ai";
import type { LogEntry } from "../../agent/index.ts";

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
  parked: boolean;
  last?: string;
}

/**
 * Joins the turns of a reply. In the log a turn that asks ends, and the answer begins another turn with the same message
 * id. A socket gets the first without its end and the second without its beginning, as one message that goes on.
 */
export class TurnJoiner {
  #turn: SentTurn | undefined;
  /** The message that the last turn left open. */
  #parked: string | undefined;

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
        this.#turn = { id: turn, reply, resumes: this.#parked === reply, parked: false };
        this.#parked = undefined;
        return [...outputs, { kind: "turn", turn, reply, sequence }];
      }
      case "chunk":
        // A turn that began before this socket read the log cannot be followed.
        return this.#turn?.id === turn ? sendChunks(this.#turn, chunks, sequence) : [];
      case "withdraw":
        if (entry.message === undefined) return [];
        this.#parked = undefined;
        return [{ kind: "withdrawn", turn, from: entry.message, sequence }];
      case "end": {
        if (this.#turn?.id !== turn) return [];
        const { parked, reply, last } = this.#turn;
        this.#turn = undefined;
        this.#parked = parked ? reply : undefined;
        if (!parked) return [{ kind: "done", sequence }];
        return [{ kind: "parked", turn, sequence, endsWithStep: last === "finish-step" }];
      }
    }
  }
}

function sendChunks(turn: SentTurn, chunks: readonly UIMessageChunk[], sequence: number): ChatOutput[] {
  return chunks.flatMap((chunk, index): ChatOutput[] => {
    if (chunk.type === "start" && turn.resumes && chunk.messageId === turn.reply) return [];
    turn.parked = chunk.type === "finish" && chunk.finishReason === "tool-calls";
    if (turn.parked) return [];
    turn.last = chunk.type;
    // Only the last has the number, so that a cut before it repeats all of them.
    return [{ kind: "chunk", chunk, ...(index === chunks.length - 1 && { sequence }) }];
  });
}
