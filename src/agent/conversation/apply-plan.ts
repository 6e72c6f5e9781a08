import type { Session as AdkSession } from "@google/adk";
import type { Part } from "@google/genai";
import { AlreadyResponded, type Store } from "../../stores/index.ts";
import { handoverEvent, noteEvent, responseEvent } from "../adk/new-events.ts";
import type { StoreSessionService } from "../adk/session-service.ts";
import type { HistoryPlan } from "./history-plan.ts";

export interface Applied {
  /** Responses for a live model that waits for them. */
  responses: Part[];
  /** Notes that were appended. A live model gets them too. */
  notes: Part[];
  /** Rows to mark as told, once the model has been given the rest. */
  tells: string[];
  /** False when another process had written one of the responses before. */
  isComplete: boolean;
}

/** Yield to the event loop after so many records: a store in memory never waits. */
const yieldEvery = 32;

/** Appends the records of a plan to the history. No other code of ours appends responses and notes. */
export async function applyPlan(
  { records }: HistoryPlan,
  session: AdkSession,
  sessions: StoreSessionService,
): Promise<Applied> {
  const applied: Applied = { responses: [], notes: [], tells: [], isComplete: true };
  for (const [index, { response, send, note, tells }] of records.entries()) {
    if (index % yieldEvery === yieldEvery - 1) await new Promise((resolve) => setImmediate(resolve));
    if (response) {
      const { open, ...fields } = response;
      try {
        await sessions.appendEvent({ session, event: responseEvent(open, fields.response, fields) });
        const target = fields.actions?.transferToAgent;
        if (target !== undefined) await sessions.appendEvent({ session, event: handoverEvent(target) });
      } catch (error) {
        if (!(error instanceof AlreadyResponded)) throw error;
        applied.isComplete = false;
        continue;
      }
    }
    if (note) {
      await sessions.appendEvent({ session, event: noteEvent(note.id, note.text, { about: note.about }) });
      applied.notes.push({ text: note.text });
    }
    if (send) applied.responses.push(send);
    applied.tells.push(...tells);
  }
  return applied;
}

/**
 * Marks rows as told. If the process dies before this, the next plan finds their responses in the history and only marks
 * them, or appends the same note again: an event with an id that is already there replaces it.
 */
export async function markTold(rows: readonly string[], store: Store): Promise<void> {
  for (const id of rows) await store.markTold(id);
}
