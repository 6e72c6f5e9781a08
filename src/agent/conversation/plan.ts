import type { Event } from "@google/adk";
import type { Part } from "@google/genai";
import { isSettled } from "../../protocol/index.ts";
import type { Approval, JsonObject } from "../../stores/index.ts";
import {
  answeredCalls,
  hasMovedOn,
  keepsId,
  keptResults,
  lastContent,
  callsOf,
  type OpenCall,
  openCalls,
  responsesOf,
  unknownCalls,
} from "../adk/history.ts";
import { callInSession, tellable } from "../approval/family.ts";
import { contextNote, interruptedResponse, outcomeNote } from "../approval/outcome.ts";

/**
 * The plan: from the history and the ledger to what has to be appended to the history, sent to the model and marked as
 * told. A pure function; `apply-plan.ts` carries it out. docs/design/history.md explains the table.
 *
 *                       | a message      | outcomes came,      | outcomes came,        | before a live
 *   an open call is     | by request     | by request          | live                  | connection opens
 *   --------------------|----------------|---------------------|-----------------------|------------------------
 *   settled             | P1 response    | P2 in the request,  | P4 response, sent if  | P6 with a message: as P4,
 *   kept (free result)  | P1 response    | with its whole step | awaited, else a note  | nothing is awaited
 *   unsettled           | P1 "not known  | P3 the model waits  | nothing               | nothing
 *                       |    yet"        |                     |                       |
 *   lost (no row,       | P1 interrupted | P2 interrupted      | nothing               | P6 interrupted
 *     no result)        |                |                     |                       |
 *
 *   P5 If the conversation has moved on since the call, by request too: the response goes in its place, a note follows.
 *   P7 A settled row that the model was told "not known yet" about: a note. One whose response the history has: only marked.
 *   P8 A response that answers an older call must not be the last content, or ADK drops everything in between (K12): a note.
 *   P9 A step with an id that ADK removes from requests (K23) gets all its responses at once or none.
 */
export interface Ledger {
  /** The id of the session whose history this is. */
  session: string;
  events: readonly Event[];
  /** All rows of the chat. */
  rows: readonly Approval[];
}

/** Why the history is brought up to date. */
export type Occasion =
  /** By request: a user's message follows, so no call may stay open. Rows that could be cancelled have been. */
  | { kind: "message" }
  /** By request: calls were settled, and the model continues when its whole step is. */
  | { kind: "outcomes" }
  /** The model is not asked now. */
  | { kind: "record" }
  /** A live model gets outcomes; `awaited` are the calls it waits for on this connection. */
  | { kind: "live"; awaited: ReadonlySet<string> }
  /** A live connection is about to open; `tells`: it begins with a message, so the history tells the outcomes. */
  | { kind: "connect"; tells: boolean }
  /** A live model cancelled these calls itself. */
  | { kind: "cancelled"; calls: ReadonlySet<string> };

export interface HistoryPlan {
  /** What to append to the history, in this order. */
  records: readonly HistoryRecord[];
  /** The message of the next request: the responses of the whole open step (P2). */
  request?: {
    parts: Part[];
    author: string;
    stateDelta: JsonObject;
    tells: string[];
    /** Calls of agents whose outcome must be told later. */
    unknown: string[];
  };
  /** `ask`: the model has something to respond to. `wait`: its step is not settled. `rest`: there is nothing to tell it. */
  next: "ask" | "wait" | "rest";
}

/** One entry of the plan. If its response turns out to be in the history already, the whole entry is skipped. */
export interface HistoryRecord {
  /** The response to an open call, appended in the name of its agent. */
  response?: { open: OpenCall; response: JsonObject; unknown: readonly string[]; stateDelta?: JsonObject | undefined };
  /** The response for a live model that waits for it. */
  send?: Part;
  /** A note to the model. Its id is derived from what it is about, so it is written once. */
  note?: { id: string; text: string };
  /** Rows that the model knows about afterwards. */
  tells: readonly string[];
}

export function planHistory(ledger: Ledger, occasion: Occasion): HistoryPlan {
  const calls = openCalls(ledger.events).map((open) => knowledgeOf(open, ledger));
  switch (occasion.kind) {
    case "message": {
      const records = calls.map(({ open, response, unknown, stateDelta, tells }) => ({
        response: { open, response, unknown, stateDelta },
        tells,
      }));
      return { records: [...records, ...lateRecords(ledger, records)], next: "ask" };
    }
    case "outcomes":
      return planOutcomes(ledger, calls);
    case "record":
      return { records: lateRecords(ledger, []), next: "rest" };
    case "live": {
      const records = tellRecords(calls, new Set(["settled", "kept"]), occasion.awaited);
      const all = [...records, ...lateRecords(ledger, records)];
      return { records: all, next: makesModelSpeak(all, calls, occasion.awaited) ? "ask" : "rest" };
    }
    case "connect": {
      const kinds: readonly Kind[] = occasion.tells ? ["lost", "settled", "kept"] : ["lost"];
      const records = tellRecords(calls, new Set(kinds), new Set());
      const late = occasion.tells ? lateRecords(ledger, records) : [];
      const all = [...records, ...late];
      return { records: [...all, ...trailingNote(ledger, all)], next: "rest" };
    }
    case "cancelled": {
      const cancelled = calls.filter(({ open, kind }) => occasion.calls.has(open.call.id) && kind === "settled");
      const records = cancelled.map(({ open, response, unknown, stateDelta, tells }) => ({
        response: { open, response, unknown, stateDelta },
        tells,
      }));
      return { records, next: "rest" };
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
}

function knowledgeOf(open: OpenCall, { session, events, rows }: Ledger): Knowledge {
  const row = rows.find((each) => each.session === session && each.toolCallId === open.call.id);
  if (row) {
    const { response, tells, unknown } = tellable(row, rows);
    const untold = tells.filter((id) => !rows.find((each) => each.id === id)?.told);
    const kind = isSettled(row.state) ? "settled" : "unsettled";
    return { kind, open, row, response, tells: untold, unknown, stateDelta: row.stateDelta };
  }
  const kept = keptResults(events).get(open.call.id);
  return { kind: kept ? "kept" : "lost", open, response: kept ?? interruptedResponse, tells: [], unknown: [] };
}

/** P2, P3, P5, P8. */
function planOutcomes(ledger: Ledger, calls: readonly Knowledge[]): HistoryPlan {
  const late = lateRecords(ledger, []);
  const last = calls.at(-1)?.open.event;
  if (!last) return { records: late, next: "rest" };
  if (calls.some(({ kind }) => kind === "unsettled")) return { records: late, next: "wait" };
  const movedOn =
    calls.some(({ open }) => open.event.id !== last.id) ||
    hasMovedOn(ledger.events, last) ||
    late.some(({ note }) => note);
  if (movedOn) {
    const records = [...late, ...tellRecords(calls, new Set(["settled", "kept", "lost"]), new Set())];
    return { records: [...records, ...trailingNote(ledger, records)], next: "ask" };
  }
  const parts = calls.map(({ open: { call }, response }): Part => ({
    functionResponse: { id: call.id, name: call.name, response },
  }));
  const stateDelta = Object.assign({}, ...calls.map((call) => call.stateDelta)) as JsonObject;
  const tells = calls.flatMap((call) => call.tells);
  const unknown = calls.flatMap((call) => call.unknown);
  return { records: late, request: { parts, author: last.author ?? "", stateDelta, tells, unknown }, next: "ask" };
}

/** P4, P5, P6, P9: a response in the place of each call of these kinds; sent to a model that awaits it, else a note. */
function tellRecords(
  calls: readonly Knowledge[],
  kinds: ReadonlySet<Kind>,
  awaited: ReadonlySet<string>,
): HistoryRecord[] {
  return calls.flatMap((known): HistoryRecord[] => {
    const { kind, open, row, response, tells, unknown, stateDelta } = known;
    if (!kinds.has(kind)) return [];
    const { id, name, args = {} } = open.call;
    const keepsIds = callsOf(open.event).every(keepsId);
    const isPaired = keepsIds || calls.every((other) => other.open.event.id !== open.event.id || kinds.has(other.kind));
    const inPlace = isPaired ? { response: { open, response, unknown, stateDelta } } : {};
    if (kind === "lost") return isPaired ? [{ ...inPlace, tells }] : [];
    if (awaited.has(id)) return [{ ...inPlace, send: { functionResponse: { id, name, response } }, tells }];
    // A result without a row is told with its response. A row that is told was sent or noted before.
    if (!isPaired && (!row || row.told)) return [];
    if (row) return [{ ...inPlace, ...(!row.told && { note: lateNote(row, response) }), tells }];
    const text = contextNote(name, JSON.stringify(args), "succeeded", response);
    return [{ ...inPlace, note: { id: `late-${id}`, text }, tells }];
  });
}

/** P7: settled rows that the model has not been told about, except those that `planned` tells about. */
function lateRecords({ session, events, rows }: Ledger, planned: readonly HistoryRecord[]): HistoryRecord[] {
  const told = new Set(planned.flatMap(({ tells }) => tells));
  const late = rows.filter((row) => isSettled(row.state) && !row.told && !told.has(row.id));
  if (late.length === 0) return [];
  const unknown = unknownCalls(events);
  const answered = answeredCalls(events);
  return late.flatMap((row): HistoryRecord[] => {
    const call = callInSession(row, session, rows);
    if (!call) return [];
    if (unknown.has(row.toolCallId)) return [{ note: lateNote(row), tells: [row.id] }];
    return answered.has(call.toolCallId) ? [{ tells: [row.id] }] : [];
  });
}

function lateNote(row: Approval, response?: JsonObject): { id: string; text: string } {
  return { id: `late-${row.id}`, text: outcomeNote(row, response) };
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

/** P8. */
function trailingNote({ events, rows }: Ledger, records: readonly HistoryRecord[]): HistoryRecord[] {
  const last = records.findLast(({ response, note }) => response ?? note);
  if (last?.note) return [];
  const answered = last?.response ? responseTo(last.response) : lastResponse(events);
  if (!answered) return [];
  const isOther = ({ response, note }: HistoryRecord) =>
    note !== undefined || (response !== undefined && response.open.event.id !== answered.event.id);
  if (!hasMovedOn(events, answered.event) && !records.some(isOther)) return [];
  const { id, name, args = {} } = answered.call;
  const isLost = answered.response["status"] === interruptedResponse.status;
  const state = rows.find(({ toolCallId }) => toolCallId === id)?.state ?? (isLost ? "interrupted" : "succeeded");
  const text = contextNote(name, JSON.stringify(args), state, answered.response);
  return [{ note: { id: `behind-${id}`, text }, tells: [] }];
}

function responseTo({ open, response }: NonNullable<HistoryRecord["response"]>) {
  return { ...open, response };
}

/** The response that the history ends with, and the call it answers. */
function lastResponse(events: readonly Event[]) {
  const last = lastContent(events);
  const [response] = last ? responsesOf(last) : [];
  if (!response) return undefined;
  for (const event of events) {
    const call = callsOf(event).find(({ id }) => id === response.id);
    if (call) return { call, event, response: response.response ?? {} };
  }
  return undefined;
}
