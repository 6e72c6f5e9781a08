import type { Context } from "@google/adk";

const keys = new WeakMap<Context, string>();

/** The same for every attempt at one approved call: hand it to whatever has the effect. */
export function idempotencyKey(context: Context): string {
  return keys.get(context) ?? `${context.sessionId}:${context.functionCallId ?? context.invocationId}`;
}

export function setIdempotencyKey(context: Context, key: string): void {
  keys.set(context, key);
}
