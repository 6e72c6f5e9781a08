import type { Event } from "@google/adk";
import { getFunctionCalls } from "@google/adk";

/** Calls past the limit, by the arguments that ADK passes around; it never copies them (K24). */
const excess = new WeakMap<object, string>();

/** Marks the calls of one model response past the limit. Comes before ADK calls the tools. */
export function markExcessCalls(event: Event, limit: number): void {
  if (event.partial) return;
  const calls = getFunctionCalls(event);
  if (calls.length <= limit) return;
  const error = `One response may make at most ${limit} calls; this one made ${calls.length}. This call was not run. Make it again in a later response.`;
  for (const call of calls.slice(limit)) excess.set((call.args ??= {}), error);
}

/** What the model is told about a call past the limit; undefined for any other call. */
export function excessError(args: object): { error: string } | undefined {
  const error = excess.get(args);
  return error === undefined ? undefined : { error };
}
