import { inPlace } from "../agent/index.ts";
import { Quota } from "../protocol/quota.ts";

export interface FairReadsOptions {
  /** How many reads are made at once. */
  reads: number;
  readsPerOwner: number;
  /** How many may wait. */
  waitingReads: number;
  waitingReadsPerOwner: number;
}

/** How long a read keeps its slot. One that hangs must not keep the others waiting for ever. */
const holdMs = 10_000;

interface Waiting {
  start: () => void;
}

/**
 * Lets owners take turns in reading chats, so that one who reads without end slows only itself down. After each read the
 * event loop runs once before the next one begins: other requests get their replies in between.
 */
export class FairReads {
  readonly #options: FairReadsOptions;
  /** What waits, by owner. The owner who is next comes first. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #owners = new Map<string, number>();
  readonly #quota: Quota;
  #running = 0;

  constructor(options: FairReadsOptions) {
    this.#options = options;
    const { waitingReads: total, waitingReadsPerOwner: perOwner } = options;
    this.#quota = new Quota({ what: "reads that wait", perOwner, total });
  }

  /**
   * Reads when it is this owner's turn. Throws `too_many` or `unavailable` if too many reads wait. A read that stands aside
   * (`aside`) waits for its turn again afterwards, and is not refused then, because it was let in before.
   */
  async run<T>(owner: string, read: () => Promise<T>): Promise<T> {
    if (this.#mayBegin(owner)) this.#take(owner);
    else {
      const share = this.#quota.take(owner);
      await this.#wait(owner);
      share.release();
    }
    let leave: (() => void) | undefined = this.#leaveLater(owner);
    let isOver = false;
    const standAside = async <R>(until: () => Promise<R>): Promise<R> => {
      if (!leave || isOver) return until();
      leave();
      leave = undefined;
      const result = await until();
      if (this.#mayBegin(owner)) this.#take(owner);
      else await this.#wait(owner);
      leave = this.#leaveLater(owner);
      if (isOver) leave();
      return result;
    };
    try {
      return await inPlace(standAside, read);
    } finally {
      isOver = true;
      leave?.();
    }
  }

  /** The function that gives a slot to the next read. A read that hangs loses its slot by itself. */
  #leaveLater(owner: string): () => void {
    let isOver = false;
    const leave = () => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      setImmediate(() => this.#release(owner));
    };
    const timer = setTimeout(leave, holdMs);
    timer.unref();
    return leave;
  }

  #mayBegin(owner: string): boolean {
    const { reads, readsPerOwner } = this.#options;
    return this.#running < reads && (this.#owners.get(owner) ?? 0) < readsPerOwner;
  }

  #take(owner: string): void {
    this.#running += 1;
    this.#owners.set(owner, (this.#owners.get(owner) ?? 0) + 1);
  }

  #wait(owner: string): Promise<void> {
    return new Promise((start) => {
      const queue = this.#waiting.get(owner) ?? [];
      queue.push({ start });
      this.#waiting.set(owner, queue);
    });
  }

  #release(owner: string): void {
    this.#running -= 1;
    const left = (this.#owners.get(owner) ?? 1) - 1;
    if (left > 0) this.#owners.set(owner, left);
    else this.#owners.delete(owner);
    for (const [next, queue] of this.#waiting) {
      if (this.#running >= this.#options.reads) return;
      if (!this.#mayBegin(next)) continue;
      // The owner goes to the end of the line.
      this.#waiting.delete(next);
      const first = queue.shift();
      if (queue.length > 0) this.#waiting.set(next, queue);
      if (!first) continue;
      this.#take(next);
      first.start();
    }
  }
}
