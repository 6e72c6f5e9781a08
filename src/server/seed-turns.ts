import type { UIMessageChunk } from "ai";
import type { LogEntry } from "../agent/index.ts";

/** What a socket of the seed wire is told, before it is text. */
export type SeedOutput =
  | { kind: "turn"; turn: string; reply: string; sequence: number }
  | { kind: "chunk"; chunk: UIMessageChunk; sequence?: number }
  | {
      kind: "parked";
      turn: string;
      sequence: number;
      /** False where the turn wrote something after its last step, or had none. */
      endsWithStep: boolean;
    }
  | { kind: "done"; sequence?: number };

/**
 * The log as one conversation on one socket. In the log a turn that asks ends, and the answer begins another turn with
 * the same message id. Here the first has no end and the second no beginning: the message goes on where it stopped.
 */
export class SeedTurns {
  #turn: { id: string; reply: string; resumes: boolean; parked: boolean; last?: string } | undefined;
  /** The message that the last turn left open. */
  #parked: string | undefined;

  /** True between the beginning of a turn and its end: nothing else may come in between. */
  get isSending(): boolean {
    return this.#turn !== undefined;
  }

  /** The client was told of an end: whatever comes next begins. */
  end(): void {
    this.#parked = undefined;
  }

  /** What an entry makes the socket say; `chunks` are what its chunk is in the socket's dialect. */
  next(entry: LogEntry, chunks: readonly UIMessageChunk[] = []): SeedOutput[] {
    const { turn, sequence } = entry;
    switch (entry.kind) {
      case "begin": {
        const { reply } = entry;
        const outputs: SeedOutput[] = this.#turn ? [{ kind: "done" }] : [];
        this.#turn = { id: turn, reply, resumes: this.#parked === reply, parked: false };
        this.#parked = undefined;
        return [...outputs, { kind: "turn", turn, reply, sequence }];
      }
      case "chunk":
        // A turn that began before this socket listened is not one it can follow.
        return this.#turn?.id === turn ? this.#say(chunks, sequence) : [];
      case "withdraw":
        return [];
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

  #say(chunks: readonly UIMessageChunk[], sequence: number): SeedOutput[] {
    const turn = this.#turn!;
    return chunks.flatMap((chunk, index): SeedOutput[] => {
      if (chunk.type === "start" && turn.resumes && chunk.messageId === turn.reply) return [];
      turn.parked = chunk.type === "finish" && chunk.finishReason === "tool-calls";
      if (turn.parked) return [];
      turn.last = chunk.type;
      // The last one has the number: whoever was cut off before it gets all again.
      return [{ kind: "chunk", chunk, ...(index === chunks.length - 1 && { sequence }) }];
    });
  }
}
