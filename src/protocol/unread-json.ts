import { BridgeError } from "./errors.ts";
import { parseJsonBytes, type ParseLimits } from "./parse-json.ts";

/** How many bytes of unread values may still be read; the values of one request share it. */
export interface ReadBudget {
  bytes: number;
}

/**
 * A value of a request that is still bytes. Clients send back every output of a message that they answer in, and the
 * server needs few of them: only those that are needed are parsed, checked and counted.
 */
export class UnreadJson {
  readonly #bytes: Uint8Array;
  readonly #limits: ParseLimits;
  readonly #budget: ReadBudget;

  constructor(bytes: Uint8Array, limits: ParseLimits, budget: ReadBudget) {
    this.#bytes = bytes;
    this.#limits = limits;
    this.#budget = budget;
  }

  /** Throws a `BridgeError`: `malformed` if it is not JSON, another code if it breaks a limit. */
  read(): unknown {
    const { length } = this.#bytes;
    if (length > this.#budget.bytes)
      throw new BridgeError("too_large", `The value has ${length} bytes; ${this.#budget.bytes} are left for it.`);
    this.#budget.bytes -= length;
    return parseJsonBytes(this.#bytes, this.#limits);
  }
}
