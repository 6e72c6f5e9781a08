import type { Event } from "@google/adk";
import type { Part } from "@google/genai";
import { type ApprovalState, isSettled } from "../../protocol/index.ts";
import type { Approval, JsonObject } from "../../stores/index.ts";
import {
  callsWithResponse,
  hasMovedOn,
  keepsId,
  keptActions,
  keptResults,
  notedCalls,
  callsOf,
  type OpenCall,
  openCalls,
  unknownCalls,
} from "../adk/history.ts";
import { metadataOf } from "../adk/event-metadata.ts";
import type { Note } from "../adk/new-events.ts";
import { mergeActions, readActions, type ToolActions } from "../adk/tool-actions.ts";
import { callInSession, tellable } from "../approval/family.ts";
import { contextNote, interruptedResponse, isOpen, outcomeNote } from "../approval/outcome.ts";
import type { HistoryPlan, HistoryRecord } from "./history-plan.ts";
import { stateOf, trailingNote } from "./trailing-note.ts";

/**
 * The plan: from the history and the ledger to what has to be appended to the history, sent to the model and marked as
 * told. A pure function; `update-history.ts` writes the records, and the conversation sends `request` or `send`. docs/design/history.md explains the table, docs/design/adk.md
 * the K numbers.
 *
 *                       | `message`      | `outcomes`          | `live`                | `connect`
 *   an open call is     | by request     | by request          |                       | before going live
 *   --------------------|----------------|---------------------|-----------------------|--------------------------
 *   settled, or begun   | P1 response    | P2 in the request,  | P4 response, sent if  | P6 with a message: as P4,
 *     with a status     |                | with its whole step | awaited, else a note  | no call is awaited
 *   kept (free result)  | P1 response    | P2                  | P4                    | P6
 *   unsettled           | P1 "not known  | P3 the model waits  | nothing               | nothing
 *                       |    yet"        |                     |                       |
 *   lost (no row,       | P1 interrupted | P2 interrupted      | nothing               | P6 interrupted
 *     no result)        |                |                     |                       |
 *
 *   `record` leaves open calls alone. `cancelled` gives the calls that the model cancelled their responses.
 *
 *   P3 A request must not contain a call without a response, so the model waits for every open call.
 *   P5 By request, if something was said since the call: the response is appended where it belongs, and a note follows.
 *   P7 A settled row that the model was told "not known yet" about: a note. One whose response the history has: only marked.
 *   P8 The response to an older call must not be the last content, or ADK drops what was said in between (K12): a note.
 *   P9 ADK removes some ids from requests (K23). A step with such an id gets all its responses at once or none.
 *   P10 By request, a reported result that the model only knew as begun makes it speak, unless the user has written since.
 *   P11 Tools that asked for more than a response (artifacts, a transfer, an end): the responses of the step are recorded
 *      in place with those actions, and the step goes on as they say.
 *   P12 A call that ran while its message was withdrawn is not in the history, but a note says "not known yet": as P7.
 *   P13 By request, if the agent that made the calls does not exist any more: as P5. ADK shows its calls to other agents as
 *      text, and refuses a request that brings a response to one.
 */
export interface PlanInput {
  /** The id of the session whose history this is. */
  session: string;
  /** The session's history. */
  events: readonly Event[];
  /** All rows of the chat. */
  rows: readonly Approval[];
}

/** Why the history is brought up to date. */
export type Occasion =
  /** By request: a user's message follows, so no call may stay open. Rows that could be cancelled have been. */
  | { kind: "message" }
  /**
   * By request: calls were settled, and the model continues when all its open calls are. `isGone` tells agents that made
   * calls and do not exist any more.
   */
  | { kind: "outcomes"; isGone?: (agent: string) => boolean }
  /** The model is not asked now. */
  | { kind: "record" }
  /** A live model gets outcomes; `awaited` are the calls it waits for on this connection. */
  | { kind: "live"; awaited: ReadonlySet<string> }
  /** A live connection is about to open. If it begins with a message, the history already tells the outcomes. */
  | { kind: "connect"; withMessage: boolean }
  /** A live model cancelled these calls itself. */
  | { kind: "cancelled"; calls: ReadonlySet<string> };

export function planHistory(input: PlanInput, occasion: Occasion): HistoryPlan {
  const calls = openCallsOf(input);
  switch (occasion.kind) {
    case "message":
      return { records: [...calls.map(inPlace), ...lateRecords(input)], next: "ask" };
    case "outcomes":
      return planOutcomes(input, calls, occasion.isGone);
    case "record":
      return { records: lateRecords(input), next: "rest" };
    case "live": {
      const told = tellRecords(calls, new Set(["settled", "kept"]), occasion.awaited);
      const records = [...told, ...lateRecords(input)];
      return { records, next: makesModelSpeak(records, calls, occasion.awaited) ? "ask" : "rest" };
    }
    case "connect": {
      const kinds: readonly Kind[] = occasion.withMessage ? ["lost", "settled", "kept"] : ["lost"];
      const told = tellRecords(calls, new Set(kinds), new Set());
      const records = [...told, ...(occasion.withMessage ? lateRecords(input) : [])];
      return { records: [...records, ...trailingNote(input, records)], next: "rest" };
    }
    case "cancelled": {
      // Only Gemini Live cancels calls. They have ids that requests keep, so P9 does not apply.
      const isCancelled = ({ open, kind }: Knowledge) => occasion.calls.has(open.call.id) && kind === "settled";
      return { records: calls.filter(isCancelled).map(inPlace), next: "rest" };
    }
  }
}

type Kind = "settled" | "kept" | "unsettled" | "lost";

/** What is known about an open call. */
interface Knowledge {
  kind: Kind;
  open: OpenCall;
  row?: Approval;
  response: JsonObject;
  /** Rows that the response tells about and that the model does not know yet. */
  tells: string[];
  unknown: string[];
  stateDelta?: JsonObject | undefined;
  actions?: ToolActions | undefined;
}

/** The open calls of the history, with what is known about each. */
function openCallsOf({ session, events, rows }: PlanInput): Knowledge[] {
  const own = new Map(rows.filter((row) => row.session === session).map((row) => [row.toolCallId, row]));
  const told = new Set(rows.filter((row) => row.told).map(({ id }) => id));
  const kept = keptResults(events);
  return openCalls(events).map((open): Knowledge => {
    const row = own.get(open.call.id);
    if (row) {
      const { response, tells, unknown } = tellable(row, rows);
      const kind = isOpen(row) ? "unsettled" : "settled";
      // A kept result has brought its changes of the state with it.
      const stateDelta = kept.has(open.call.id) ? undefined : row.stateDelta;
      const actions = readActions(row.actions);
      return { kind, open, row, response, tells: tells.filter((id) => !told.has(id)), unknown, stateDelta, actions };
    }
    const result = kept.get(open.call.id);
    return { kind: result ? "kept" : "lost", open, response: result ?? interruptedResponse, tells: [], unknown: [] };
  });
}

/** The response to an open call, where it belongs. */
function inPlace({ open, response, unknown, stateDelta, actions, tells }: Knowledge): HistoryRecord {
  return { response: { open, response, unknown, stateDelta, actions }, tells };
}

/** P2, P3, P5, P8, P13. */
function planOutcomes(
  input: PlanInput,
  calls: readonly Knowledge[],
  isGone: (agent: string) => boolean = () => false,
): HistoryPlan {
  const late = lateRecords(input);
  const last = calls.at(-1)?.open.event;
  if (!last) return { records: late, next: isNews(input, late) ? "ask" : "rest" };
  if (calls.some(({ kind }) => kind === "unsettled")) return { records: late, next: "wait" };
  const movedOn =
    calls.some(({ open }) => open.event.id !== last.id) ||
    hasMovedOn(input.events, last) ||
    isGone(last.author ?? "") ||
    late.some(({ note }) => note);
  if (movedOn) {
    const records = [...late, ...tellRecords(calls, new Set(["settled", "kept", "lost"]), new Set())];
    return { records: [...records, ...trailingNote(input, records)], next: "ask" };
  }
  const actions = mergeActions([keptActions(input.events, last), ...calls.map((call) => call.actions)]);
  if (actions) {
    const resume = { author: last.author ?? "", actions };
    return { records: [...late, ...calls.map(inPlace)], resume, next: "ask" };
  }
  const parts = calls.map(({ open: { call }, response }): Part => ({
    functionResponse: { id: call.id, name: call.name, response },
  }));
  const stateDelta = Object.assign({}, ...calls.map((call) => call.stateDelta)) as JsonObject;
  const tells = calls.flatMap((call) => call.tells);
  const unknown = calls.flatMap((call) => call.unknown);
  return { records: late, request: { parts, author: last.author ?? "", stateDelta, tells, unknown }, next: "ask" };
}

/**
 * P10: A result that was reported after the model had been told that the call has begun is news, and so is what a person has
 * found out. The model speaks about it. If the user has written since the call, the model reads it with the next message instead.
 */
function isNews({ session, events, rows }: PlanInput, late: readonly HistoryRecord[]): boolean {
  const noted = new Set(late.flatMap(({ note, tells }) => (note ? tells : [])));
  const reported = rows.filter(
    ({ id, reportBy, resolvedBy }) => noted.has(id) && (reportBy !== undefined || resolvedBy !== undefined),
  );
  const calls = reported.flatMap((row) => callInSession(row, session, rows) ?? []);
  const said = events.findLastIndex((event) => metadataOf(event).message !== undefined);
  const since = new Set(events.slice(said + 1).flatMap((event) => callsOf(event).map(({ id }) => id)));
  return calls.some(({ toolCallId }) => since.has(toolCallId));
}

/** P4, P5, P6, P9: a response in the place of each call of these kinds; sent to a model that awaits it, else a note. */
function tellRecords(
  calls: readonly Knowledge[],
  kinds: ReadonlySet<Kind>,
  awaited: ReadonlySet<string>,
): HistoryRecord[] {
  const paired = pairedSteps(calls, kinds);
  return calls.flatMap((known): HistoryRecord[] => {
    const { kind, open, row, response, tells } = known;
    if (!kinds.has(kind)) return [];
    const { id, name, args = {} } = open.call;
    const isPaired = paired.has(open.event.id);
    const record: HistoryRecord = isPaired ? inPlace(known) : { tells };
    if (kind === "lost") return isPaired ? [record] : [];
    if (awaited.has(id)) return [{ ...record, send: { functionResponse: { id, name, response } } }];
    // A result without a row, and what has only begun, is told with its response. A row that is told was sent or noted before.
    if (!isPaired && (!row || row.told || !isSettled(row.state))) return [];
    if (row) return [row.told ? record : { ...record, note: lateNote(row, response) }];
    const text = contextNote(name, JSON.stringify(args), stateOf(response), response);
    return [{ ...record, note: { id: `late-${id}`, text, about: id } }];
  });
}

/** P9: the ids of the steps whose calls may get responses. Each step is looked at once, because it may have many calls. */
function pairedSteps(calls: readonly Knowledge[], kinds: ReadonlySet<Kind>): Set<string> {
  const steps = new Map(calls.map(({ open }) => [open.event.id, open.event]));
  const waiting = new Set(calls.flatMap(({ kind, open }) => (kinds.has(kind) ? [] : [open.event.id])));
  return new Set([...steps].flatMap(([id, step]) => (!waiting.has(id) || callsOf(step).every(keepsId) ? [id] : [])));
}

/** P7, P12: settled rows that the model has not been told about, and whose call has a response or was withdrawn. */
function lateRecords({ session, events, rows }: PlanInput): HistoryRecord[] {
  const late = rows.filter((row) => isSettled(row.state) && !row.told);
  if (late.length === 0) return [];
  const unknown = unknownCalls(events);
  const responded = callsWithResponse(events);
  const withdrawn = notedCalls(events);
  return late.flatMap((row): HistoryRecord[] => {
    const call = callInSession(row, session, rows);
    // P12: the call was withdrawn while it ran, and a note says so.
    const isWithdrawn = call?.session === session && withdrawn.has(row.toolCallId);
    if (!call || !(responded.has(call.toolCallId) || isWithdrawn)) return [];
    return [unknown.has(row.toolCallId) ? { note: lateNote(row), tells: [row.id] } : { tells: [row.id] }];
  });
}

/** A call that has begun, or whose outcome was not known, gets a second note when its outcome is known. */
function lateNote(row: Approval, response?: JsonObject): Note {
  const kinds: Partial<Record<ApprovalState, string>> = { waiting: "begun", indeterminate: "unclear" };
  return { id: `${kinds[row.state] ?? "late"}-${row.id}`, text: outcomeNote(row, response), about: row.toolCallId };
}

/**
 * True when a live model will speak: after a note, and after the last response of a step. While another call of the same
 * step is open, the model may wait for that one; if it does not wait, it is heard as unasked speech.
 */
function makesModelSpeak(
  records: readonly HistoryRecord[],
  calls: readonly Knowledge[],
  awaited: ReadonlySet<string>,
): boolean {
  const sent = new Set(records.flatMap(({ send }) => send?.functionResponse?.id ?? []));
  const stepOf = new Map(calls.map(({ open }) => [open.call.id, open.event.id]));
  const openSteps = new Set([...awaited].filter((id) => !sent.has(id)).map((id) => stepOf.get(id)));
  return records.some(({ note }) => note) || [...sent].some((id) => !openSteps.has(stepOf.get(id)));
}
