import { BridgeError } from "../../protocol/index.ts";
import { retryText } from "../../protocol/quota.ts";
import { metrics, MinuteWindow } from "../support/index.ts";

export interface ModelCallsOptions {
  modelCallsPerMinute: number;
  modelCallsPerMinutePerOwner: number;
  now: () => number;
}

/** After so many calls the owners whose calls are too old to count are forgotten. */
const forgetEvery = 1000;

/** Counts the calls to the model in the last 60 seconds, per owner and in all. */
export class ModelCalls {
  readonly #options: ModelCallsOptions;
  readonly #all: MinuteWindow;
  readonly #owners = new Map<string, MinuteWindow>();
  #calls = 0;

  constructor(options: ModelCallsOptions) {
    this.#options = options;
    this.#all = new MinuteWindow(options.modelCallsPerMinute);
  }

  /** Throws if the owner's next call would be refused now. */
  check(owner: string): void {
    const refusal = this.#refusal(owner);
    if (refusal) throw refusal;
  }

  /** Counts a call. Returns a sentence if it may not be made. */
  take(owner: string): string | undefined {
    const refusal = this.#refusal(owner);
    if (refusal) return refusal.message;
    metrics.model.calls.add(1);
    const { modelCallsPerMinute, modelCallsPerMinutePerOwner } = this.#options;
    const now = this.#options.now();
    // Without a limit nothing is kept.
    if (modelCallsPerMinute !== Infinity) this.#all.add(now);
    if (modelCallsPerMinutePerOwner === Infinity) return undefined;
    const window = this.#owners.get(owner) ?? new MinuteWindow(modelCallsPerMinutePerOwner);
    window.add(now);
    this.#owners.set(owner, window);
    this.#calls += 1;
    if (this.#calls % forgetEvery === 0)
      for (const [name, each] of this.#owners) if (each.isEmpty(now)) this.#owners.delete(name);
    return undefined;
  }

  #refusal(owner: string): BridgeError | undefined {
    const { modelCallsPerMinute, modelCallsPerMinutePerOwner, now } = this.#options;
    const at = now();
    const ownMs = this.#owners.get(owner)?.waitMs(at) ?? 0;
    if (ownMs > 0)
      return refusalOf("too_many", `${modelCallsPerMinutePerOwner} model calls per minute and owner`, ownMs);
    const allMs = this.#all.waitMs(at);
    return allMs > 0 ? refusalOf("unavailable", `${modelCallsPerMinute} model calls per minute`, allMs) : undefined;
  }
}

function refusalOf(code: "too_many" | "unavailable", limit: string, waitMs: number): BridgeError {
  const retryAfter = Math.ceil(waitMs / 1000);
  return new BridgeError(code, `The limit of ${limit} is reached. ${retryText(retryAfter)}`, { retryAfter });
}
