import { getFunctionCalls, getFunctionResponses, isCompactedEvent, type Event } from "@google/adk";
import type { FunctionCall, FunctionResponse, Part } from "@google/genai";
import { mergeActions, type ToolActions } from "./tool-actions.ts";
import { type KeptPart, metadataOf } from "./event-metadata.ts";

/** Questions to a session's history, an array of ADK events. Pure. */

/** A function call with an id, which ADK gives every call. */
export type Call = FunctionCall & { id: string; name: string };

/** A call without a response, and the event that made it. */
export interface OpenCall {
  call: Call;
  event: Event;
}

/** ADK's own pseudo tools. The model does not call them itself, and we do not use them. */
export const isReserved = (name: string | undefined): boolean => name?.startsWith("adk_request_") ?? false;

/** The calls of an event that the model made. */
export function callsOf(event: Event): Call[] {
  return getFunctionCalls(event).filter(
    (call): call is Call => Boolean(call.id && call.name) && !isReserved(call.name),
  );
}

/** The function responses in an event. */
export function responsesOf(event: Event): FunctionResponse[] {
  return getFunctionResponses(event);
}

/** The ids of all calls that have a response. */
export function callsWithResponse(events: readonly Event[]): Set<string | undefined> {
  const answered = new Set<string | undefined>();
  for (const { content } of events)
    for (const { functionResponse } of content?.parts ?? none) if (functionResponse) answered.add(functionResponse.id);
  return answered;
}

const none: readonly Part[] = [];

/** The events with calls. Most events of a long history have none. */
function eventsWithCalls(events: readonly Event[]): Event[] {
  const found: Event[] = [];
  for (const event of events)
    for (const { functionCall } of event.content?.parts ?? none)
      if (functionCall) {
        found.push(event);
        break;
      }
  return found;
}

/** Calls without a response, in the order they were made. */
export function openCalls(events: readonly Event[]): OpenCall[] {
  const made = eventsWithCalls(events);
  const answered = made.length > 0 ? callsWithResponse(events) : undefined;
  return made.flatMap((event) =>
    callsOf(event)
      .filter(({ id }) => !answered?.has(id))
      .map((call) => ({ call, event })),
  );
}

/** The results set aside in an event, see `EventMetadata.kept`. */
export function keptOf(event: Event): readonly KeptPart[] {
  return metadataOf(event).kept ?? [];
}

/** All results set aside in a history, by the id of their call. */
export function keptResults(events: readonly Event[]): Map<string, Record<string, unknown>> {
  const kept = new Map<string, Record<string, unknown>>();
  for (const event of events)
    if (event.customMetadata)
      for (const { functionResponse } of keptOf(event)) kept.set(functionResponse.id, functionResponse.response);
  return kept;
}

/** The actions that were set aside with the results of a step, in the events since its calls. */
export function keptActions(events: readonly Event[], step: Event): ToolActions | undefined {
  const since = events.slice(events.findLastIndex(({ id }) => id === step.id) + 1);
  return mergeActions(since.map((event) => ({ transferToAgent: metadataOf(event).transfer })));
}

/** The step that the history ends with, if its tools asked for more than a response: its agent, and what they asked. */
export function lastStep(events: readonly Event[]): { author: string; actions: ToolActions } | undefined {
  const last = lastContent(events);
  const answered = last?.author === "user" ? undefined : last && responsesOf(last)[0]?.id;
  const step = events.findLast((event) => callsOf(event).some(({ id }) => id === answered));
  if (!step || answered === undefined) return undefined;
  const ids = new Set<string | undefined>(callsOf(step).map(({ id }) => id));
  const responses = events.filter((event) => responsesOf(event).some(({ id }) => ids.has(id)));
  const actions = mergeActions(responses.map((event) => event.actions));
  return actions && { author: step.author ?? "", actions };
}

/** Calls whose response only said "not known yet", or that it is not known what became of them. */
export function unknownCalls(events: readonly Event[]): Set<string> {
  return new Set(
    events.flatMap((event) => {
      // Until 0.2 the metadata did not have the calls of which no one knew what became.
      const unclear = responsesOf(event).filter(({ response }) => response?.["status"] === "indeterminate");
      return [...(metadataOf(event).unknown ?? []), ...unclear.flatMap(({ id }) => id ?? [])];
    }),
  );
}

/** Calls of which a note said that their outcome is not known yet: they were withdrawn while they ran. */
export function notedCalls(events: readonly Event[]): Set<string> {
  return new Set(
    events.flatMap((event) => (metadataOf(event).about === undefined ? [] : (metadataOf(event).unknown ?? []))),
  );
}

/**
 * True when requests keep the id of this call (K23). ADK removes the ids it generated itself from requests; their
 * responses are matched by order alone, so a step with such a call gets all its responses at once or none.
 */
export function keepsId({ id }: Call): boolean {
  return !id.startsWith("adk-");
}

/** True for the summary of an earlier part of the history, which a compactor made. The agent has not said it. */
export function isSummary(event: Event): boolean {
  return isCompactedEvent(event);
}

/** The last text the agent said, without thoughts. Text before its last tool call does not count. */
export function lastText(events: readonly Event[]): string {
  const isText = (part: Part) => Boolean(part.text) && !part.thought;
  const asked = events.findLastIndex((event) => event.author === "user" || responsesOf(event).length > 0);
  const event = events
    .slice(asked + 1)
    .findLast((each) => each.content?.role === "model" && each.content.parts?.some(isText) && !isSummary(each));
  return (
    event?.content?.parts
      ?.filter(isText)
      .map(({ text }) => text)
      .join("") ?? ""
  );
}

/** The last event with content. Summaries do not count. */
export function lastContent(events: readonly Event[]): Event | undefined {
  return events.findLast((event) => event.content?.parts?.length && !isSummary(event));
}

/** True when anything but thoughts and responses to its own calls follows this event. ADK may drop such content (K12). */
export function hasMovedOn(events: readonly Event[], event: Event): boolean {
  const own = new Set<string | undefined>(callsOf(event).map(({ id }) => id));
  const since = events.slice(events.findLastIndex(({ id }) => id === event.id) + 1);
  return since.some(
    (later) =>
      !isSummary(later) &&
      later.content?.parts?.some(({ text, thought, functionResponse }) =>
        functionResponse ? !own.has(functionResponse.id) : text !== "" && !thought,
      ),
  );
}

/** True for an event with text that is not a thought. */
export function hasText({ content }: Pick<Event, "content">): boolean {
  return content?.parts?.some(({ text, thought }) => text && !thought) ?? false;
}

/** True when the history ends with something the model has not responded to. */
export function awaitsModel(events: readonly Event[]): boolean {
  const last = lastContent(events);
  return last !== undefined && (last.author === "user" || responsesOf(last).length > 0);
}

/**
 * True when the last step ended in an error and left calls without a response, because a callback around a tool threw.
 * ADK would ask the model again, with a history that no model accepts.
 */
export function hasBrokenOff(events: readonly Event[]): boolean {
  return events.at(-1)?.errorCode !== undefined && openCalls(events).length > 0;
}
