import type { UIMessage } from "ai";
import { BridgeError } from "../../protocol/index.ts";
import type { Session } from "../../stores/index.ts";
import type { LoggedTurn } from "../log/read-turn.ts";
import { metrics, within } from "../support/index.ts";
import type { Turn } from "../turn-input.ts";

/** How long a section waits for the ones before it. */
const sectionMs = 30_000;
/** How long a turn that was stopped may take to end. */
const stopMs = 15_000;

/** A turn that others can wait for, join or stop. */
export interface QueuedTurn extends LoggedTurn {
  /** The approvals whose outcome this turn shows. */
  covers: ReadonlySet<string>;
  /** The user's message that the turn replies to, if it does. */
  message?: UIMessage;
  stop(reason: Error): void;
}

/** A turn that is to be queued. */
type QueuedInput = Pick<Turn, "id" | "reply" | "input" | "mode" | "actor" | "begun"> & { after: number };

/**
 * The turns of one chat, one at a time and in order. It lives only while something runs; the store keeps the rest.
 *
 * Something of the application may hang: a toolset, a tool, a store. It must not take the chat with it. A section waits for
 * the ones before it for a limited time and is then refused. A turn that was stopped and does not end counts as over after
 * a while; it can write nothing but its own end then, since each step of a turn looks at its signal.
 */
export class ChatQueue {
  readonly chat: Session;
  /** Set while the chat is being deleted, and from then on. */
  isDeleted = false;
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
    const before = this.#lastSection;
    const busy = () => new BridgeError("unavailable", "This chat is busy. Try again in a moment.");
    const result = within(sectionMs, before, busy)
      .then(section)
      .finally(() => {
        this.#sections -= 1;
        this.#reportIdle();
      });
    this.#lastSection = Promise.allSettled([before, result]);
    return result;
  }

  enqueue(turn: QueuedInput): QueuedTurn {
    const controller = new AbortController();
    const { input, mode, actor, begun, ...named } = turn;
    const queued: QueuedTurn = {
      ...named,
      covers: new Set(input.kind === "settled" ? input.approvals : []),
      ...(input.kind === "message" && { message: input.message }),
      stop: (reason) => controller.abort(reason),
      done: this.#lastTurn.then(async () => {
        metrics.turns.queued.add(-1);
        try {
          const { id, reply } = turn;
          const { signal } = controller;
          await untilOver(this.#run({ id, reply, input, mode, actor, begun, chat: this.chat, signal }), signal);
        } finally {
          this.#turns = this.#turns.filter((other) => other !== queued);
          this.#reportIdle();
        }
      }),
    };
    metrics.turns.queued.add(1);
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

/** Waits for a turn, after it was stopped only for a while. */
async function untilOver(run: Promise<void>, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const hangs = new Promise<void>((resolve) => {
    const onAbort = () => (timer = setTimeout(resolve, stopMs));
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    await Promise.race([run, hangs]);
  } finally {
    clearTimeout(timer);
  }
}
