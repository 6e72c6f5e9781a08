import { createEvent, createEventActions, getFunctionCalls, getFunctionResponses, type Event } from "@google/adk";
import type { Content, FunctionCall, Part } from "@google/genai";

/** A function call with an id, which ADK gives every call. */
export type Call = FunctionCall & { id: string; name: string };
export interface OpenCall {
  call: Call;
  event: Event;
}

/** ADK's own pseudo tools; we never use its confirmation, and none of them is a call of the model's. */
export const isReserved = (name: string | undefined): boolean => name?.startsWith("adk_request_") ?? false;

/** The calls of an event that are the model's own. */
export function callsOf(event: Event): Call[] {
  return getFunctionCalls(event).filter(
    (call): call is Call => Boolean(call.id && call.name) && !isReserved(call.name),
  );
}

/** Calls the history still owes a response, in the order they were made. */
export function openCalls(events: readonly Event[]): OpenCall[] {
  const answered = new Set(events.flatMap((event) => getFunctionResponses(event).map(({ id }) => id)));
  return events.flatMap((event) =>
    callsOf(event)
      .filter(({ id }) => !answered.has(id))
      .map((call) => ({ call, event })),
  );
}

/**
 * The results of a step's free calls, put aside until the whole step is settled. ADK pairs responses to calls by their
 * order alone, so handing them over early would give one call the answer of another.
 */
export function keptResults(events: readonly Event[]): Map<string, Record<string, unknown>> {
  return new Map(
    events.flatMap((event) => keptOf(event).map((part) => [part.functionResponse.id, part.functionResponse.response])),
  );
}

type KeptPart = { functionResponse: { id: string; name: string; response: Record<string, unknown> } };
export function keptOf(event: Event): KeptPart[] {
  return (event.customMetadata?.["kept"] as KeptPart[] | undefined) ?? [];
}

/** Calls whose response only said "not known yet": their outcome is told later, as context. */
export function unknownCalls(events: readonly Event[]): Set<string> {
  return new Set(events.flatMap((event) => (event.customMetadata?.["unknown"] as string[] | undefined) ?? []));
}

/** The response to one call, in the place where the call was made. */
export function responseEvent(
  { call, event }: OpenCall,
  response: Record<string, unknown>,
  {
    unknown,
    stateDelta,
  }: { /** Calls of which no more can be said yet. */ unknown: string[]; stateDelta?: Record<string, unknown> },
): Event {
  return createEvent({
    actions: createEventActions({ stateDelta: stateDelta ?? {} }),
    invocationId: event.invocationId,
    author: event.author,
    branch: event.branch,
    content: { role: "user", parts: [{ functionResponse: { id: call.id, name: call.name, response } }] },
    customMetadata: unknown.length > 0 ? { unknown } : undefined,
  });
}

/**
 * Puts responses in the order of their calls, which is what pairs them. Live, each was given when it was there, and ADK
 * gathers them in that order.
 */
export function orderResponses(contents: readonly Content[]): void {
  for (const [index, { parts = [] }] of contents.entries()) {
    const ids = parts.flatMap(({ functionCall }) => functionCall?.id ?? []);
    const place = ({ functionResponse }: Part) => ids.indexOf(functionResponse?.id ?? "");
    if (ids.length > 1) contents[index + 1]?.parts?.sort((a, b) => place(a) - place(b));
  }
}

/** What the agent said last, without its thoughts. Words before its last tool call are not its last. */
export function lastText(events: readonly Event[]): string {
  const spoken = (part: Part) => Boolean(part.text) && !part.thought;
  const asked = events.findLastIndex((event) => event.author === "user" || getFunctionResponses(event).length > 0);
  const event = events
    .slice(asked + 1)
    .findLast(({ content }) => content?.role === "model" && content.parts?.some(spoken));
  return (
    event?.content?.parts
      ?.filter(spoken)
      .map(({ text }) => text)
      .join("") ?? ""
  );
}

/** True where somebody has spoken since this event. */
export function hasMovedOn(events: readonly Event[], { id }: Event): boolean {
  const since = events.slice(events.findLastIndex((event) => event.id === id) + 1);
  return since.some(({ content }) => content?.parts?.some(({ text, thought }) => text && !thought));
}

/** True where the history ends with something the model has not answered. */
export function awaitsModel(events: readonly Event[]): boolean {
  const last = events.findLast(({ content }) => content?.parts?.length);
  return last !== undefined && (last.author === "user" || getFunctionResponses(last).length > 0);
}
