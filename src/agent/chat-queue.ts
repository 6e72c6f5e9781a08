import type { Session } from "../stores/index.ts";
import type { Turn, TurnInput } from "./turn-input.ts";

/** A turn somebody can wait for, join or stop. */
export interface QueuedTurn {
  id: string;
  reply: string;
  /** The log's last sequence when the turn was queued: its entries come after it. */
  after: number;
  /** The approvals this turn settles. */
  covers: ReadonlySet<string>;
  started: boolean;
  stop(reason: Error): void;
  done: Promise<void>;
}

/**
 * The turns of one chat, one at a time and in order. Lives only while something runs; whatever must survive is in the
 * store.
 */
export class ChatQueue {
  readonly chat: Session;
  readonly #run: (turn: Turn) => Promise<void>;
  readonly #onIdle: () => void;
  #turns: QueuedTurn[] = [];
  #tail: Promise<void> = Promise.resolve();
  #section: Promise<unknown> = Promise.resolve();
  #sections = 0;

  constructor(chat: Session, run: (turn: Turn) => Promise<void>, onIdle: () => void) {
    this.chat = chat;
    this.#run = run;
    this.#onIdle = onIdle;
  }

  /** Runs one short section at a time, so that an answer and the turn it starts are one step to everybody else. */
  exclusive<T>(section: () => Promise<T>): Promise<T> {
    this.#sections += 1;
    const result = this.#section.then(section).finally(() => {
      this.#sections -= 1;
      this.#settle();
    });
    this.#section = result.catch(() => undefined);
    return result;
  }

  enqueue(turn: { id: string; reply: string; after: number; input: TurnInput; live?: boolean }): QueuedTurn {
    const controller = new AbortController();
    const { input, live = false, ...named } = turn;
    const queued: QueuedTurn = {
      ...named,
      covers: new Set(input.kind === "settled" ? input.approvals : []),
      started: false,
      stop: (reason) => controller.abort(reason),
      done: this.#tail.then(async () => {
        queued.started = true;
        try {
          await this.#run({ id: turn.id, reply: turn.reply, input, live, chat: this.chat, signal: controller.signal });
        } finally {
          this.#turns = this.#turns.filter((other) => other !== queued);
          this.#settle();
        }
      }),
    };
    this.#turns.push(queued);
    this.#tail = queued.done.catch(() => undefined);
    return queued;
  }

  get running(): QueuedTurn | undefined {
    return this.#turns[0];
  }

  find(predicate: (turn: QueuedTurn) => boolean): QueuedTurn | undefined {
    return this.#turns.find(predicate);
  }

  /** Stops everything that runs or waits; true when there was something. */
  async stopAll(reason: Error): Promise<boolean> {
    const turns = [...this.#turns];
    for (const turn of turns) turn.stop(reason);
    await Promise.allSettled(turns.map(({ done }) => done));
    return turns.length > 0;
  }

  #settle(): void {
    if (this.#turns.length === 0 && this.#sections === 0) this.#onIdle();
  }
}
