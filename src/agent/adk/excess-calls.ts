import { type Event, getFunctionCalls } from "@google/adk";
import type { Part } from "@google/genai";

/** How many calls one response made, and how many of them may run. */
interface Made {
  limit: number;
  calls: number;
  /** True when the calls past the limit are dropped, except the first. */
  dropsOthers: boolean;
}

/** Calls past the limit, by the arguments that ADK passes around; it never copies them (K24). */
const excess = new WeakMap<object, Made>();

/**
 * The calls of one model response that comes by request. Those past the limit are dropped before they are shown or stored:
 * a history with thousands of calls makes every later request slow. The first of them stays, and tells the model why.
 */
export class CallLimit {
  readonly #made: Made;

  constructor(limit: number) {
    this.#made = { limit, calls: 0, dropsOthers: true };
  }

  /** The calls of one piece of the response, without those that are dropped. */
  keep(calls: readonly Part[]): Part[] {
    return calls.filter(({ functionCall }) => {
      this.#made.calls += 1;
      const past = this.#made.calls - this.#made.limit;
      if (past === 1 && functionCall) excess.set((functionCall.args ??= {}), this.#made);
      return past <= 1;
    });
  }
}

/** Marks the calls of a live model past the limit. It waits for a response to each, so none can be dropped. */
export function markExcessCalls(event: Event, limit: number): void {
  if (event.partial) return;
  const calls = getFunctionCalls(event);
  const made: Made = { limit, calls: calls.length, dropsOthers: false };
  for (const call of calls.slice(limit)) if (!excess.has((call.args ??= {}))) excess.set(call.args, made);
}

/** What the model is told about a call past the limit; undefined for any other call. */
export function excessError(args: object): { error: string } | undefined {
  const made = excess.get(args);
  if (!made) return undefined;
  const { limit, calls, dropsOthers } = made;
  const others = calls - limit - 1;
  const which = dropsOthers && others > 0 ? `This call and the ${others} after it were` : "This call was";
  return {
    error: `One response may make at most ${limit} calls; this one made ${calls}. ${which} not run. Call again in a later response.`,
  };
}
