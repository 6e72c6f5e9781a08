import type { Context } from "@google/adk";

const keys = new WeakMap<Context, string>();

/** A key that is the same for every attempt at one call. Pass it to the service that has the effect. */
export function idempotencyKey(context: Context): string {
  return keys.get(context) ?? callKey(context.sessionId, context.functionCallId ?? context.invocationId);
}

/** The key of a call that runs before it has a row in the ledger; the row gets the same key. */
export function callKey(session: string, callId: string): string {
  return `${session}:${callId}`;
}

export function setIdempotencyKey(context: Context, key: string): void {
  keys.set(context, key);
}
