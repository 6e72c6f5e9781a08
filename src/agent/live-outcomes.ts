import { createEvent, type Event, getFunctionResponses, type Session as AdkSession } from "@google/adk";
import type { Part } from "@google/genai";
import { isSettled } from "../protocol/index.ts";
import { AlreadyAnswered, type Approval } from "../stores/index.ts";
import { type HistoryTools, tellable } from "./heal.ts";
import { callsOf, hasMovedOn, keptResults, type OpenCall, openCalls, responseEvent, unknownCalls } from "./history.ts";
import { isLiveId } from "./live-notices.ts";
import { contextNote, interruptedResponse, lateNote } from "./outcome.ts";

/** What a live model has not been told yet. */
export interface Outcomes {
  /** Answers to calls of this connection. */
  responses: Part[];
  /** Calls of another connection, or of none, can only be spoken of. */
  notes: Part[];
  told: Approval[];
}

/**
 * Puts into the history what became of calls since, and returns what is to be said to the model. A note stands behind the
 * response it is about, because ADK would drop the talk between a call and a response that comes last (K12).
 */
export async function recordOutcomes(
  session: AdkSession,
  { store, sessions }: HistoryTools,
  isWaitedFor: (callId: string) => boolean,
): Promise<Outcomes> {
  const outcomes: Outcomes = { responses: [], notes: [], told: [] };
  const rows = await store.listApprovals({ session: session.id });
  const note = async (about: string, text: string) => {
    const content = { role: "user", parts: [{ text }] };
    await sessions.appendEvent({ session, event: createEvent({ id: `late-${about}`, author: "user", content }) });
    outcomes.notes.push(...content.parts);
  };
  /** False where another instance did it. */
  const answer = async (event: Event) => {
    try {
      await sessions.appendEvent({ session, event });
      return true;
    } catch (error) {
      if (!(error instanceof AlreadyAnswered)) throw error;
      return false;
    }
  };
  const unknown = unknownCalls(session.events);
  const answered = new Set(session.events.flatMap((event) => getFunctionResponses(event).map(({ id }) => id)));
  const kept = keptResults(session.events);
  const calls = openCalls(session.events);
  const rowOf = ({ call }: OpenCall) => rows.find(({ toolCallId }) => toolCallId === call.id);
  const isKnown = (open: OpenCall) => isSettled(rowOf(open)?.state ?? "pending") || kept.has(open.call.id);
  // Requests leave out the ids that ADK gave, and then only the order says which response is whose: all or none.
  const isPaired = (open: OpenCall) =>
    isLiveId(open.call.id) || calls.every((other) => other.event.id !== open.event.id || isKnown(other));
  for (const open of calls) {
    if (!isKnown(open)) continue;
    const { id, name, args = {} } = open.call;
    const row = rowOf(open);
    // Without a row: the result of a free call beside a held one, put aside when the step was asked by a request.
    const {
      response,
      told,
      unknown: later,
    } = row ? await tellable(row, store) : { response: kept.get(id) ?? {}, told: [], unknown: [] };
    if (
      isPaired(open) &&
      !(await answer(responseEvent(open, response, { unknown: later, stateDelta: row?.stateDelta })))
    )
      continue;
    if (isWaitedFor(id)) outcomes.responses.push({ functionResponse: { id, name, response } });
    else if (!row && isPaired(open)) await note(id, contextNote(name, JSON.stringify(args), "succeeded", response));
    else if (row && !row.told) await note(row.id, lateNote(row));
    outcomes.told.push(...told.filter((each) => !each.told));
  }
  // Of some only this much is in the history: that they were not known yet, or an answer that a crash kept from being told.
  for (const row of rows) {
    if (row.told || !isSettled(row.state)) continue;
    if (!unknown.has(row.toolCallId) && !answered.has(row.toolCallId)) continue;
    await note(row.id, lateNote(row));
    outcomes.told.push(row);
  }
  return outcomes;
}

/**
 * Makes a history whole that nobody is writing to. A call that is in no ledger and has no result was cut off by a crash.
 * And behind an answer to an older call comes a note, so that ADK does not drop the talk between the two (K12).
 */
export async function mendHistory(session: AdkSession, { store, sessions }: HistoryTools): Promise<void> {
  const rows = await store.listApprovals({ session: session.id });
  const kept = keptResults(session.events);
  const isLost = ({ call }: OpenCall) => !kept.has(call.id) && !rows.some(({ toolCallId }) => toolCallId === call.id);
  const open = openCalls(session.events);
  for (const call of open) {
    const isAlone = open.every((other) => other.event.id !== call.event.id || isLost(other));
    if (isLost(call) && (isAlone || isLiveId(call.call.id)))
      await sessions.appendEvent({ session, event: responseEvent(call, interruptedResponse, { unknown: [] }) });
  }
  const last = session.events.findLast(({ content }) => content?.parts?.length);
  const [response] = last ? getFunctionResponses(last) : [];
  const asked = response && session.events.find((event) => callsOf(event).some(({ id }) => id === response.id));
  if (!response || !asked || !hasMovedOn(session.events, asked)) return;
  const { args = {} } = callsOf(asked).find(({ id }) => id === response.id)!;
  const state = rows.find(({ toolCallId }) => toolCallId === response.id)?.state ?? "succeeded";
  const text = contextNote(response.name ?? "", JSON.stringify(args), state, response.response);
  const content = { role: "user", parts: [{ text }] };
  await sessions.appendEvent({ session, event: createEvent({ id: `behind-${response.id}`, author: "user", content }) });
}
