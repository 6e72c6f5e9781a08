import { BridgeError } from "../../protocol/index.ts";
import type { AtOnce } from "./at-once.ts";
import type { Handshake } from "./handshake.ts";

/**
 * Asks again who a socket belongs to. The identity of a socket never changes: if another one is found, or none, or the
 * question fails, every check fails from then on, and the socket has to be closed.
 */
export class IdentityCheck {
  readonly #handshake: Pick<Handshake, "identity" | "identifyAgain">;
  readonly #now: () => number;
  #checkedAt: number;
  /** True while the check of a heartbeat waits or runs. */
  #isBeating = false;
  #failure: unknown;

  constructor(handshake: Pick<Handshake, "identity" | "identifyAgain">, now: () => number) {
    this.#handshake = handshake;
    this.#now = now;
    this.#checkedAt = now();
  }

  /** True if it is time for the check of a heartbeat. */
  isDue(at: number, heartbeatMs: number): boolean {
    // Sockets are looked at every half of a heartbeat or more often. With less than a half here, every such look finds a
    // check due, so that a revoked socket is closed within one heartbeat.
    const isTime = at - this.#checkedAt >= heartbeatMs * 0.4;
    return isTime && !this.#isBeating && this.#handshake.identifyAgain !== undefined;
  }

  /** The check of a heartbeat, which waits for its turn. */
  async beat(turns: AtOnce, isOpen: () => boolean): Promise<void> {
    this.#isBeating = true;
    try {
      await turns.run(async () => {
        if (isOpen()) await this.check();
      });
    } finally {
      this.#isBeating = false;
    }
  }

  /** Resolves if the socket still belongs to the same owner and actor. */
  async check(): Promise<void> {
    const { identity, identifyAgain } = this.#handshake;
    if (!identifyAgain) return;
    this.#checkedAt = this.#now();
    if (this.#failure === undefined) {
      try {
        const { owner, actor } = await identifyAgain();
        if (owner !== identity.owner || actor !== identity.actor) throw sessionEnded();
      } catch (error) {
        this.#failure ??= isUnauthenticated(error) ? sessionEnded() : error;
      }
    }
    // Also if another check has failed meanwhile.
    if (this.#failure !== undefined) throw this.#failure;
  }
}

function isUnauthenticated(error: unknown): boolean {
  return error instanceof BridgeError && error.code === "unauthenticated";
}

function sessionEnded(): BridgeError {
  return new BridgeError("unauthenticated", "The session of this socket has ended. Sign in again.");
}
