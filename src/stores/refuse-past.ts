import { BridgeError } from "../protocol/index.ts";
import type { NewApproval } from "./store.ts";
import type { CallLimits, ChatLimits } from "./store-limits.ts";

/** How many calls there are now. Each is asked for only if its limit is given. */
export interface CallCounts {
  pending(): number;
  waiting(): number;
  /** At least as many as wait. `atMost` is the limit: the exact number matters only when it may be reached. */
  waitingOfOwner(atMost: number): number;
  waitingInAll(atMost: number): number;
}

/** Throws when this call may not be added. All stores refuse in the same words. */
export function refuseCallPast(call: NewApproval, limits: CallLimits, counts: CallCounts): void {
  const { maxPending, maxWaiting, maxWaitingOfOwner, maxWaitingInAll } = limits;
  if (maxPending !== undefined && call.state === "pending" && counts.pending() >= maxPending)
    throw new BridgeError("too_many", `At most ${maxPending} calls of a chat may wait for approval at once.`);
  if (maxWaiting !== undefined && counts.waiting() >= maxWaiting)
    throw new BridgeError("too_many", `At most ${maxWaiting} calls of a chat may wait at once.`);
  if (maxWaitingOfOwner !== undefined && counts.waitingOfOwner(maxWaitingOfOwner) >= maxWaitingOfOwner)
    throw new BridgeError("too_many", `At most ${maxWaitingOfOwner} calls of a user may wait at once.`);
  if (maxWaitingInAll !== undefined && counts.waitingInAll(maxWaitingInAll) >= maxWaitingInAll)
    throw new BridgeError("unavailable", `At most ${maxWaitingInAll} calls may wait at once on this server.`);
}

/** How many chats there are now. Each is asked for only if its limit is given. */
export interface ChatCounts {
  ofOwner(): number;
  /** At least as many as there are. `atMost` is the limit. */
  inAll(atMost: number): number;
}

/** Throws when the owner may not have another chat. */
export function refuseChatPast({ chatsPerOwner, chats }: ChatLimits, counts: ChatCounts): void {
  if (chatsPerOwner !== undefined && counts.ofOwner() >= chatsPerOwner)
    throw new BridgeError("too_many", `The limit of ${chatsPerOwner} chats per owner is reached. Delete one first.`, {
      retryAfter: fullSeconds,
    });
  if (chats !== undefined && counts.inAll(chats) >= chats)
    throw new BridgeError("unavailable", `The limit of ${chats} chats of this server is reached.`, {
      retryAfter: fullSeconds,
    });
}

/** When to try again if only a deletion makes room. */
const fullSeconds = 60;

/**
 * A count that costs too much to be made each time. Only additions are counted, so it is never too low; `recount` is asked
 * when it reaches a limit, and finds what has been removed meanwhile.
 */
export class UpperBound {
  readonly #recount: () => number;
  #known: number | undefined;

  constructor(recount: () => number) {
    this.#recount = recount;
  }

  /** At least the true number; exactly this number if it may have reached `limit`. */
  value(limit: number): number {
    if (limit === Infinity) return 0;
    if (this.#known === undefined || this.#known >= limit) this.#known = this.#recount();
    return this.#known;
  }

  added(): void {
    if (this.#known !== undefined) this.#known += 1;
  }
}

/** How many owners are counted at once. An owner who is forgotten is counted anew. */
const maxOwners = 1000;

/** An {@link UpperBound} for each owner. */
export class UpperBounds {
  readonly #recount: (owner: string) => number;
  readonly #owners = new Map<string, UpperBound>();

  constructor(recount: (owner: string) => number) {
    this.#recount = recount;
  }

  of(owner: string): UpperBound {
    const known = this.#owners.get(owner);
    if (known) return known;
    if (this.#owners.size >= maxOwners) this.#owners.clear();
    const bound = new UpperBound(() => this.#recount(owner));
    this.#owners.set(owner, bound);
    return bound;
  }
}
