import { isSettled } from "../protocol/index.ts";
import type { CallCounts } from "./refuse-past.ts";
import type { Approval, OpenState } from "./store.ts";

/** Counts the calls that wait, as they come and go, so that no store in memory has to look at every row. */
export class OpenCallCounts {
  readonly #chats = new Map<string, number>();
  readonly #pending = new Map<string, number>();
  readonly #owners = new Map<string, number>();
  readonly #states: Record<OpenState, number> = { pending: 0, approved: 0, executing: 0, waiting: 0 };

  /** A row has changed: `before` is undefined for a new one, `after` for one that was removed. */
  change(before: Approval | undefined, after: Approval | undefined): void {
    if (before) this.#add(before, -1);
    if (after) this.#add(after, 1);
  }

  /** What there is beside a new call of this chat and owner. */
  counts(chat: string, owner: string): CallCounts {
    return {
      pending: () => this.#pending.get(chat) ?? 0,
      waiting: () => this.#chats.get(chat) ?? 0,
      waitingOfOwner: () => this.#owners.get(owner) ?? 0,
      waitingInAll: () => Object.values(this.#states).reduce((sum, count) => sum + count),
    };
  }

  get byState(): Record<OpenState, number> {
    return { ...this.#states };
  }

  #add({ chat, owner, state }: Approval, amount: 1 | -1): void {
    if (isSettled(state)) return;
    this.#states[state as OpenState] += amount;
    add(this.#chats, chat, amount);
    add(this.#owners, owner, amount);
    if (state === "pending") add(this.#pending, chat, amount);
  }
}

function add(counts: Map<string, number>, key: string, amount: number): void {
  const count = (counts.get(key) ?? 0) + amount;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
