import type { UIMessageChunk } from "ai";

/** A turn of the chat, as far as this connection has seen it. */
export interface KeptTurn {
  readonly id: string;
  /** The message the turn writes to. */
  readonly reply: string;
  chunks: UIMessageChunk[];
  /** True when there were too many chunks to keep. */
  isCut: boolean;
  /** True when a chunk of it was passed on. Until then it may be a reply that is not in the log and cannot be resumed. */
  isSeen: boolean;
  hasEnded: boolean;
  /** True for a reply that is not in the log: it repeats the outcome of calls that had been answered before. */
  isAside: boolean;
  /** True when a request has read it, or asked for it and was stopped. */
  isClaimed: boolean;
}

/** The turns that a request may still ask for, oldest first, with at most so many chunks. */
export class KeptTurns {
  readonly #maxChunks: number;
  #turns: KeptTurn[] = [];
  #chunks = 0;

  constructor(maxChunks: number) {
    this.#maxChunks = maxChunks;
  }

  get isFull(): boolean {
    return this.#chunks > this.#maxChunks;
  }

  find(id: string): KeptTurn | undefined {
    return this.#turns.find((turn) => turn.id === id);
  }

  add(turn: Pick<KeptTurn, "id" | "reply" | "isClaimed">): KeptTurn {
    const added = { ...turn, chunks: [], isCut: false, isSeen: false, hasEnded: false, isAside: false };
    this.#turns.push(added);
    return added;
  }

  addChunks(turn: KeptTurn, chunks: readonly UIMessageChunk[]): void {
    if (turn.isCut) return;
    for (const chunk of chunks) turn.chunks.push(chunk);
    this.#chunks += chunks.length;
  }

  /** The turns before `turn` that write to the same message and that no request has claimed. */
  unclaimedBefore(turn: KeptTurn): KeptTurn[] {
    const earlier = this.#turns.slice(0, Math.max(0, this.#turns.indexOf(turn)));
    return earlier.filter(({ isClaimed, reply }) => !isClaimed && reply === turn.reply);
  }

  /**
   * Forgets the turns that no request can ask for any more, and then the chunks of the oldest ones while there are too
   * many. `mayBeAccepted` says that the server may still name any of them as the reply to a request.
   */
  trim({ current, mayBeAccepted }: { current: KeptTurn | undefined; mayBeAccepted: boolean }): void {
    const newest = this.#turns.at(-1);
    this.#turns = this.#turns.filter(
      (turn) => turn === current || mayBeAccepted || (!turn.isClaimed && turn.reply === newest?.reply),
    );
    this.#chunks = this.#turns.reduce((sum, { chunks }) => sum + chunks.length, 0);
    for (const turn of this.#turns) {
      if (!this.isFull) return;
      this.#chunks -= turn.chunks.length;
      turn.chunks = [];
      turn.isCut = true;
    }
  }

  clear(): void {
    this.#turns = [];
    this.#chunks = 0;
  }
}
