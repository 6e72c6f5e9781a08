import type { Part } from "@google/genai";

/**
 * Results that the gate gives ADK in the place of a tool's own, and recognizes again in the event that ADK makes of them. The
 * keys are random, so that no tool can return such a result.
 */

type Result = Record<string, unknown>;

const heldKey = `held-${crypto.randomUUID()}`;
const begunKey = `begun-${crypto.randomUUID()}`;

/** Stands for a call that is held. It never leaves the gate. */
export const placeholder = (approvalId: string): Result => ({ [heldKey]: approvalId });

export const isPlaceholder = (result: unknown): boolean => hasKey(result, heldKey);

/** Marks what a tool said when it had begun. Its result will be told later. */
export const markAsBegun = (response: Result): Result => ({ ...response, [begunKey]: true });

/** Removes the marks in place. Returns the ids of the calls that have only begun. */
export function takeBegun(parts: readonly Part[] = []): string[] {
  return parts.flatMap(({ functionResponse }) => {
    const response = functionResponse?.response;
    if (!hasKey(response, begunKey)) return [];
    delete response[begunKey];
    return functionResponse?.id ?? [];
  });
}

function hasKey(value: unknown, key: string): value is Result {
  return typeof value === "object" && value !== null && key in value;
}
