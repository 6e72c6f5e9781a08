import type { Event } from "@google/adk";
import { type EffectClass, isSettled } from "../../protocol/index.ts";
import type { Approval, Store } from "../../stores/index.ts";
import { type Call, callsOf, keptResults, responsesOf } from "../adk/history.ts";
import { noteEvent } from "../adk/new-events.ts";
import {
  approvalToResponse,
  contextNote,
  interruptedResponse,
  notePrefix,
  runningResponse,
} from "../approval/outcome.ts";
import { isHandover, type RemovedCall } from "./cut-history.ts";

/** How many calls get a note of their own. The others are counted in one note. */
const maxNotes = 32;
/** How much of the arguments and of the outcome a note repeats. */
const maxText = 2000;

export interface EffectContext {
  store: Pick<Store, "events">;
  /** The effect class of a tool whose calls have no row. */
  effectOf: (toolName: string) => EffectClass;
}

/**
 * Notes about calls that leave the history: what had an effect stays true, so the model keeps knowing it. A call that still
 * runs gets a note that its outcome is not known yet; the plan tells the outcome later (P12). Calls that have not run, and
 * those that only read, leave without a trace.
 */
export async function effectNotes(
  removed: readonly RemovedCall[],
  rows: readonly Approval[],
  session: string,
  context: EffectContext,
): Promise<Event[]> {
  const effects = await effectsOf(removed, rows, session, context);
  const notes = effects.slice(0, maxNotes).map(({ name, callId, input, state, response, isRunning }) => {
    const text = contextNote(name, shortened(input), state, response);
    return noteEvent(`withdrawn-${callId}`, text, { about: callId, ...(isRunning && { unknown: [callId] }) });
  });
  const rest = effects.slice(maxNotes);
  const [first] = rest;
  if (!first) return notes;
  const counts = new Map<string, number>();
  for (const { name, state } of rest) counts.set(`${name} (${state})`, (counts.get(`${name} (${state})`) ?? 0) + 1);
  const list = [...counts].map(([what, count]) => `${count} × ${what}`).join(", ");
  const unknown = rest.flatMap(({ callId, isRunning }) => (isRunning ? [callId] : []));
  const text = `${notePrefix} There were ${rest.length} more calls: ${list.slice(0, maxText)}`;
  return [...notes, noteEvent(`withdrawn-after-${first.callId}`, text, { about: first.callId, unknown })];
}

interface Effect {
  callId: string;
  name: string;
  input: string;
  state: string;
  response: unknown;
  isRunning: boolean;
}

async function effectsOf(
  removed: readonly RemovedCall[],
  rows: readonly Approval[],
  session: string,
  context: EffectContext,
): Promise<Effect[]> {
  const own = new Map(rows.filter((row) => row.session === session).map((row) => [row.toolCallId, row]));
  const effects: Effect[] = [];
  for (const { call, response } of removed) {
    const row = own.get(call.id);
    // An agent that is run as a tool has done what its own calls did.
    if (row?.innerSession !== undefined) {
      const events = (await context.store.events(row.innerSession)).map(({ event }) => event as unknown as Event);
      effects.push(...(await effectsOf(callsWithResults(events), rows, row.innerSession, context)));
    } else if (row) effects.push(...rowToEffect(row));
    else if (!isHandover(call) && context.effectOf(call.name) !== "readonly")
      effects.push(freeToEffect(call, response ?? interruptedResponse));
  }
  return effects;
}

function callsWithResults(events: readonly Event[]): RemovedCall[] {
  const responses = new Map<string | undefined, Record<string, unknown>>([
    ...keptResults(events),
    ...events.flatMap((event) => responsesOf(event).map(({ id, response = {} }) => [id, response] as const)),
  ]);
  return events.flatMap((event) => callsOf(event).map((call) => ({ call, response: responses.get(call.id) })));
}

const ran: ReadonlySet<string> = new Set(["succeeded", "failed", "indeterminate"]);

function rowToEffect(row: Approval): Effect[] {
  const { toolCallId: callId, toolName: name, input, state, effect } = row;
  const isRunning = !isSettled(state);
  if (!isRunning && (!ran.has(state) || effect === "readonly")) return [];
  const response = shortenedJson(approvalToResponse(row) ?? runningResponse);
  return [{ callId, name, input, state, response, isRunning }];
}

function freeToEffect({ id: callId, name, args = {} }: Call, response: Record<string, unknown>): Effect {
  const isInterrupted = response["status"] === interruptedResponse.status;
  const isFailure = Object.keys(response).length === 1 && typeof response["error"] === "string";
  const state = isInterrupted ? interruptedResponse.status : isFailure ? "failed" : "succeeded";
  return {
    ...{ callId, name, input: JSON.stringify(args), state },
    ...{ response: shortenedJson(response), isRunning: false },
  };
}

function shortened(text: string): string {
  return text.length <= maxText ? text : `${text.slice(0, maxText)}… (${text.length} characters)`;
}

/** A response, or the beginning of its JSON if it is long. */
function shortenedJson(response: Record<string, unknown>): unknown {
  const text = JSON.stringify(response);
  return text.length <= maxText ? response : shortened(text);
}
