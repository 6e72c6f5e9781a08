import type { Event } from "@google/adk";
import type { Part } from "@google/genai";
import { addMetadata, type KeptPart } from "./event-metadata.ts";

/** The result that the gate gives ADK for a held call. It is taken out of the event again before anyone sees it. */

/** Random, so that no tool can return a placeholder. */
const key = `held-${crypto.randomUUID()}`;

export function placeholder(approvalId: string): Record<string, unknown> {
  return { [key]: approvalId };
}

export function isPlaceholder(result: unknown): boolean {
  return typeof result === "object" && result !== null && key in result;
}

/**
 * Takes the placeholders out of a response event (K3). With `keep`, the results of the other calls of the step are set
 * aside until the whole step is settled, and so is a transfer. Checked by value and not by run: a placeholder must never get through, even when
 * its run has been left.
 */
export function takePlaceholders(event: Event, freeResults: "keep" | "send"): void {
  const parts = event.content?.parts;
  const isHeld = ({ functionResponse }: Part) => isPlaceholder(functionResponse?.response);
  if (!parts?.some(isHeld)) return;
  const free = parts.filter((part) => !isHeld(part));
  const sends = freeResults === "send";
  const { transferToAgent } = event.actions;
  const waits = !sends && transferToAgent !== undefined;
  addMetadata(event, { kept: sends ? [] : (free as KeptPart[]), ...(waits && { transfer: transferToAgent }) });
  // ADK would start the other agent at once.
  if (waits) delete event.actions.transferToAgent;
  event.content = sends && free.length > 0 ? { ...event.content, parts: free } : undefined;
}
