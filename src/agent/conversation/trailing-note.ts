import type { Event } from "@google/adk";
import type { JsonObject } from "../../stores/index.ts";
import { metadataOf } from "../adk/event-metadata.ts";
import { type Call, callsOf, hasMovedOn, lastContent, responsesOf } from "../adk/history.ts";
import { contextNote, interruptedResponse, notePrefix } from "../approval/outcome.ts";
import type { HistoryRecord } from "./history-plan.ts";
import type { PlanInput } from "./plan.ts";

/**
 * P8: a note about the response that the history would end with, if something else came after its call. It does not repeat
 * an outcome that an earlier note has told.
 */
export function trailingNote({ session, events, rows }: PlanInput, records: readonly HistoryRecord[]): HistoryRecord[] {
  const last = records.findLast(({ response, note }) => response ?? note);
  if (last?.note) return [];
  const added = records.flatMap(({ response }) =>
    response ? [{ ...response.open, response: response.response }] : [],
  );
  const responded = added.at(-1) ?? lastResponse(events);
  if (!responded) return [];
  const isOther = ({ response, note }: HistoryRecord) =>
    note !== undefined || (response !== undefined && response.open.event.id !== responded.event.id);
  if (!hasMovedOn(events, responded.event) && !records.some(isOther)) return [];
  const { call, response } = responded;
  const { id, name, args = {} } = call;
  const state = rows.find((each) => each.session === session && each.toolCallId === id)?.state ?? stateOf(response);
  const isNoted =
    events.some((event) => metadataOf(event).about === id) || records.some(({ note }) => note?.about === id);
  const text = isNoted
    ? `${notePrefix} The result of the earlier call ${name}(${JSON.stringify(args)}) was told before.`
    : contextNote(name, JSON.stringify(args), state, response);
  return [{ note: { id: `behind-${id}`, text, about: id }, tells: [] }];
}

/** The response that the history ends with, and its call. */
function lastResponse(events: readonly Event[]): { call: Call; event: Event; response: JsonObject } | undefined {
  const last = lastContent(events);
  const [response] = last ? responsesOf(last) : [];
  if (!response) return undefined;
  for (const event of events) {
    const call = callsOf(event).find(({ id }) => id === response.id);
    if (call) return { call, event, response: response.response ?? {} };
  }
  return undefined;
}

/** How a call without a row ended, by its response. */
export function stateOf(response: JsonObject): string {
  if (response["status"] === interruptedResponse.status) return interruptedResponse.status;
  return Object.keys(response).length === 1 && typeof response["error"] === "string" ? "failed" : "succeeded";
}
