import type { Session as AdkSession } from "@google/adk";
import type { Part } from "@google/genai";
import { AlreadyResponded, type Approval, type Store } from "../../stores/index.ts";
import { handoverEvent, noteEvent, responseEvent } from "../adk/new-events.ts";
import type { StoreSessionService } from "../adk/session-service.ts";
import { yieldEvery } from "../support/index.ts";
import type { HistoryPlan, HistoryRecord } from "./history-plan.ts";

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

/** A row that a plan was made of. */
export type PlannedRow = Pick<Approval, "id" | "state">;

/** How long the event loop is kept: a store may need no real waiting. */
const sliceMs = 5;
/** How many responses are written together. */
const maxTogether = 64;

/** Appends the records of a plan to the history. No other code of ours appends responses and notes. */
export async function applyPlan(
  { records }: HistoryPlan,
  session: AdkSession,
  sessions: StoreSessionService,
): Promise<Applied> {
  const applied: Applied = { responses: [], notes: [], tells: [], isComplete: true };
  const yieldLoop = yieldEvery(sliceMs);
  for (const group of groupRecords(records)) {
    const written = await writeResponses(group, session, sessions);
    if (written.length < group.length) applied.isComplete = false;
    for (const { send, note, tells } of written) {
      if (note) {
        await sessions.appendEvent({ session, event: noteEvent(note.id, note.text, { about: note.about }) });
        applied.notes.push({ text: note.text });
      }
      if (send) applied.responses.push(send);
      applied.tells.push(...tells);
    }
    await yieldLoop();
  }
  return applied;
}

/** Records in the same order, with responses to calls of one step together: one event, and one write, for many calls. */
export function groupRecords(records: readonly HistoryRecord[]): HistoryRecord[][] {
  const groups: HistoryRecord[][] = [];
  for (const record of records) {
    const group = groups.at(-1);
    const [first] = group ?? [];
    const isSameStep =
      isPlain(record) && first && isPlain(first) && record.response?.open.event.id === first.response?.open.event.id;
    if (group && isSameStep && group.length < maxTogether) group.push(record);
    else groups.push([record]);
  }
  return groups;
}

/** True for a record that is a response and nothing else. */
function isPlain({ response, note }: HistoryRecord): boolean {
  return response !== undefined && !response.actions && !note;
}

/** Appends the responses of a group. Returns the records whose response was not in the history already. */
async function writeResponses(
  group: readonly HistoryRecord[],
  session: AdkSession,
  sessions: StoreSessionService,
): Promise<readonly HistoryRecord[]> {
  const [first, ...others] = group.flatMap(({ response }) => response ?? []);
  if (!first) return group;
  try {
    await sessions.appendEvent({ session, event: responseEvent(first, ...others) });
    const target = first.actions?.transferToAgent;
    if (target !== undefined) await sessions.appendEvent({ session, event: handoverEvent(target) });
    return group;
  } catch (error) {
    if (!(error instanceof AlreadyResponded)) throw error;
    if (others.length === 0) return [];
    const written: HistoryRecord[] = [];
    for (const record of group) written.push(...(await writeResponses([record], session, sessions)));
    return written;
  }
}

/**
 * Marks rows as told, with the states that the plan was made of: a row whose outcome was found out since has to be told
 * again. If the process dies before this, the next plan finds their responses in the history and only marks them, or
 * appends the same note again: an event with an id that is already there replaces it.
 */
export async function markTold(tells: readonly string[], rows: readonly PlannedRow[], store: Store): Promise<void> {
  const states = new Map(rows.map(({ id, state }) => [id, state]));
  for (const id of tells) await store.markTold(id, states.get(id));
}
