import { BridgeError } from "../../protocol/index.ts";

/** Counts what one turn does, so that no agent goes on for ever. */
export class TurnLimits {
  readonly #maxEvents: number;
  #events = 0;
  #requests = 0;

  /** @param maxEvents how many complete events one turn may have */
  constructor(maxEvents: number) {
    this.#maxEvents = maxEvents;
  }

  /** Counts a complete event. Throws past the limit. */
  countEvent(): void {
    this.#events += 1;
    if (this.#events > this.#maxEvents)
      throw new BridgeError("too_many", `The agent came to no end: more than ${this.#maxEvents} events in one turn.`);
  }

  /** Counts a model request, also one of an agent run as a tool. Returns a sentence past the limit. */
  countRequest(limit: number): string | undefined {
    this.#requests += 1;
    return this.#requests > limit ? `The model was asked ${limit} times and came to no end.` : undefined;
  }
}
