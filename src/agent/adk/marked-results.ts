import type { Event } from "@google/adk";
import type { Part } from "@google/genai";
import { addMetadata, type KeptPart } from "./event-metadata.ts";

/**
 * Results that the gate gives ADK in the place of a tool's own, and takes out of the event again that ADK makes of them. The
 * keys are random, so that no tool can return such a result.
 */

type Result = Record<string, unknown>;

const heldKey = `held-${crypto.randomUUID()}`;
const unknownKey = `unknown-${crypto.randomUUID()}`;

/** Stands for a call that is held. It never leaves the gate. */
export const placeholder = (approvalId: string): Result => ({ [heldKey]: approvalId });

export const isPlaceholder = (result: unknown): boolean => hasKey(result, heldKey);

/** Marks a response with the calls whose outcome it does not tell yet. It will be told later. */
export const markUnknown = (response: Result, calls: readonly string[]): Result =>
  calls.length === 0 ? response : { ...response, [unknownKey]: calls };

/**
 * Takes the placeholders out of a response event (K3). With `keep`, the results of the other calls of the step are set
 * aside until the whole step is settled, and so is a transfer. Checked by value and not by run: a placeholder must never get
 * through, even when its run has been left.
 */
export function takePlaceholders(event: Event, freeResults: "keep" | "send"): void {
  const parts = event.content?.parts;
  const unknown = takeUnknown(parts);
  const isHeld = ({ functionResponse }: Part) => isPlaceholder(functionResponse?.response);
  const isAnyHeld = parts?.some(isHeld);
  const sends = freeResults === "send";
  if (unknown.size > 0 && (sends || !isAnyHeld)) addMetadata(event, { unknown: [...unknown.values()].flat() });
  if (!parts || !isAnyHeld) return;
  // What has only begun is not kept: the row says what the model is told later.
  const isKept = ({ functionResponse: { id = "" } = {} }: Part) => sends || !unknown.get(id)?.includes(id);
  const free = parts.filter((part) => !isHeld(part) && isKept(part));
  const { transferToAgent } = event.actions;
  const waits = !sends && transferToAgent !== undefined;
  addMetadata(event, { kept: sends ? [] : (free as KeptPart[]), ...(waits && { transfer: transferToAgent }) });
  // ADK would start the other agent at once.
  if (waits) delete event.actions.transferToAgent;
  event.content = sends && free.length > 0 ? { ...event.content, parts: free } : undefined;
}

/** Removes the marks in place. Returns the calls whose outcome is told later, by the id of the response. */
function takeUnknown(parts: readonly Part[] = []): Map<string, readonly string[]> {
  const taken = new Map<string, readonly string[]>();
  for (const { functionResponse } of parts) {
    const response = functionResponse?.response;
    if (!hasKey(response, unknownKey)) continue;
    taken.set(functionResponse?.id ?? "", response[unknownKey] as readonly string[]);
    delete response[unknownKey];
  }
  return taken;
}

function hasKey(value: unknown, key: string): value is Result {
  return typeof value === "object" && value !== null && key in value;
}
