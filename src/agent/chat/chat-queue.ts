import type { Session } from "../../stores/index.ts";
import type { LoggedTurn } from "../log/read-turn.ts";
import type { Turn } from "../turn-input.ts";

/** A turn that others can wait for, join or stop. */
export interface QueuedTurn extends LoggedTurn {
  /** The approvals whose outcome this turn shows. */
  covers: ReadonlySet<string>;
  stop(reason: Error): void;
}

/** A turn that is to be queued. */
type QueuedInput = Pick<Turn, "id" | "reply" | "input" | "mode" | "actor"> & { after: number };

/** The turns of one chat, one at a time and in order. It lives only while something runs; the store keeps the rest. */
export class ChatQueue {
  readonly chat: Session;
  readonly #run: (turn: Turn) => Promise<void>;
  readonly #onIdle: () => void;
  #turns: QueuedTurn[] = [];
  #lastTurn: Promise<void> = Promise.resolve();
  #lastSection: Promise<unknown> = Promise.resolve();
  #sections = 0;

  constructor(chat: Session, run: (turn: Turn) => Promise<void>, onIdle: () => void) {
    this.chat = chat;
    this.#run = run;
    this.#onIdle = onIdle;
  }

  /** Runs one short section at a time, so that an answer and the turn it starts are one step for everyone else. */
  exclusive<T>(section: () => Promise<T>): Promise<T> {
    this.#sections += 1;
    const result = this.#lastSection.then(section).finally(() => {
      this.#sections -= 1;
      this.#reportIdle();
    });
    this.#lastSection = result.catch(() => undefined);
    return result;
  }

  enqueue(turn: QueuedInput): QueuedTurn {
    const controller = new AbortController();
    const { input, mode, actor, ...named } = turn;
    const queued: QueuedTurn = {
      ...named,
      covers: new Set(input.kind === "settled" ? input.approvals : []),
      stop: (reason) => controller.abort(reason),
      done: this.#lastTurn.then(async () => {
        try {
          const { id, reply } = turn;
          await this.#run({ id, reply, input, mode, actor, chat: this.chat, signal: controller.signal });
        } finally {
          this.#turns = this.#turns.filter((other) => other !== queued);
          this.#reportIdle();
        }
      }),
    };
    this.#turns.push(queued);
    this.#lastTurn = queued.done.catch(() => undefined);
    return queued;
  }

  get running(): QueuedTurn | undefined {
    return this.#turns[0];
  }

  find(predicate: (turn: QueuedTurn) => boolean): QueuedTurn | undefined {
    return this.#turns.find(predicate);
  }

  /** Stops everything that runs or waits. True when there was something. */
  async stopAll(reason: Error): Promise<boolean> {
    const turns = [...this.#turns];
    for (const turn of turns) turn.stop(reason);
    await Promise.allSettled(turns.map(({ done }) => done));
    return turns.length > 0;
  }

  #reportIdle(): void {
    if (this.#turns.length === 0 && this.#sections === 0) this.#onIdle();
  }
}
