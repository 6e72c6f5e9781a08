import type { Event } from "@google/adk";
import type { Part } from "@google/genai";
import type { JsonObject, StoredEvent } from "../../stores/index.ts";
import { type EventMetadata, type KeptPart, metadataOf } from "../adk/event-metadata.ts";
import { type Call, callsOf, isSummary, keptOf, responsesOf } from "../adk/history.ts";
import { taskCompleted } from "../adk/missing-tool.ts";
import { notePrefix } from "../approval/outcome.ts";

/** Which part of a chat is withdrawn. */
export interface Cut {
  /** The ids of the messages that are withdrawn. */
  withdrawn: ReadonlySet<string>;
  /** The user's message directly before the first of them, if there is one. What follows it in the history is withdrawn. */
  after?: string | undefined;
  /** For a reply that is made again: its messages, the id of the new one, and which of its calls stay. */
  remade?: { messages: ReadonlySet<string>; reply: string; keeps: (call: Call) => boolean };
  /** For a call that an agent run as a tool has made: the call of that agent. */
  callerOf?: (callId: string) => string | undefined;
}

/** What the cut means for the history. */
export interface CutHistory {
  /** The positions of the events that leave. */
  leaving: number[];
  /** Events that stay without some of their parts. Each has the id of the event it replaces. */
  changed: Event[];
  /** The calls that leave, each with its response if it has one. */
  removed: RemovedCall[];
  /** The calls of the reply that stay. */
  kept: KeptCall[];
}

export interface RemovedCall {
  call: Call;
  response?: JsonObject | undefined;
}
export interface KeptCall extends RemovedCall {
  /** The id of the event that made the call. The calls of one event are one step. */
  step: string;
}

/**
 * Cuts a history: what belongs to withdrawn messages leaves, what belongs to others stays, wherever it is. People go on
 * talking in live mode, so the outcome of an older call may come after the cut. Of a reply that is made again the calls
 * that have run stay, with their responses and without the words around them. Pure.
 */
export function cutHistory(stored: readonly StoredEvent[], cut: Cut): CutHistory {
  const events = stored.map(({ position, event }) => ({ position, event: event as unknown as Event }));
  const concerned = events.slice(firstIndex(events, cut));
  const later = concerned.findIndex(({ event }) => isOfLaterMessage(event, cut));
  const inReply = (index: number) => later < 0 || index < later;
  const responses = new Map(
    events.flatMap(({ event }) => [
      ...responsesOf(event).map(({ id, response }) => [id, response] as const),
      ...keptOf(event).map(({ functionResponse: { id, response } }) => [id, response] as const),
    ]),
  );
  const kept: KeptCall[] = [];
  const removed: RemovedCall[] = [];
  // From the end, because a handover stays only if a call that stays comes after it.
  for (const [index, { event }] of [...concerned.entries()].toReversed()) {
    if (isOfOther(event, cut)) continue;
    for (const call of callsOf(event).toReversed()) {
      const known = { call, response: responses.get(call.id) };
      const stays = isHandover(call) ? kept.length > 0 : cut.remade?.keeps(call);
      if (cut.remade && inReply(index) && stays) kept.unshift({ ...known, step: event.id });
      else removed.unshift(known);
    }
  }
  const gone = new Set<string | undefined>(removed.map(({ call }) => call.id));
  gone.delete(undefined);
  const leaving: number[] = [];
  const changed: Event[] = [];
  for (const { position, event } of concerned) {
    if (isOfOther(event, cut) || staysAsNote(event, (id) => gone.has(id) || gone.has(cut.callerOf?.(id)))) continue;
    const left = withoutCalls(event, gone, cut.remade?.reply);
    if (!left) leaving.push(position);
    else if (left !== event) changed.push(left);
  }
  return { leaving, changed, removed, kept };
}

type Positioned = readonly { position: number; event: Event }[];

/** Where the withdrawn part begins. */
function firstIndex(events: Positioned, { withdrawn, after }: Cut): number {
  const isFirst = ({ event }: { event: Event }) => {
    const { message, reply } = metadataOf(event);
    return (message !== undefined && withdrawn.has(message)) || (reply !== undefined && withdrawn.has(reply));
  };
  const found = events.findIndex(isFirst);
  const before = after === undefined ? -1 : events.findIndex(({ event }) => metadataOf(event).message === after);
  const places = [...(found < 0 ? [] : [found]), ...(before < 0 ? [] : [before + 1])];
  return Math.min(events.length, ...places);
}

/** True for the first event of the messages that follow the reply which is made again. */
function isOfLaterMessage(event: Event, { withdrawn, remade }: Cut): boolean {
  const { message, reply } = metadataOf(event);
  if (message !== undefined) return true;
  return reply !== undefined && withdrawn.has(reply) && !remade?.messages.has(reply);
}

/** True for an event of a message that is not withdrawn. A summary may repeat what is. */
function isOfOther(event: Event, { withdrawn }: Cut): boolean {
  if (isSummary(event)) return false;
  const { message, reply } = metadataOf(event);
  const owner = message ?? reply;
  return owner !== undefined && !withdrawn.has(owner);
}

/** True for a note about a call that stays, or about the effect of one that was withdrawn earlier. */
function staysAsNote(event: Event, isGone: (callId: string) => boolean): boolean {
  const { about, reply } = metadataOf(event);
  // A note that belongs to a message, which is withdrawn here.
  if (reply !== undefined) return false;
  if (about !== undefined) return !isGone(about);
  return event.author === "user" && (event.content?.parts?.[0]?.text?.startsWith(notePrefix) ?? false);
}

/** The event with only the calls and responses that stay; undefined if there are none. */
function withoutCalls(
  event: Event,
  gone: ReadonlySet<string | undefined>,
  reply: string | undefined,
): Event | undefined {
  const stays = ({ functionCall, functionResponse }: Part) => {
    const id = functionCall ? functionCall.id : functionResponse?.id;
    return id !== undefined && !gone.has(id);
  };
  const parts = event.content?.parts?.filter(stays) ?? [];
  const kept = keptOf(event).filter(({ functionResponse: { id } }: KeptPart) => !gone.has(id));
  if (parts.length === 0 && kept.length === 0) return undefined;
  const isWhole = parts.length === event.content?.parts?.length && kept.length === keptOf(event).length;
  if (isWhole && reply === undefined) return event;
  // Which agent goes on is decided again.
  const { transfer: _transfer, ...metadata }: EventMetadata = metadataOf(event);
  const hasKept = metadata.kept !== undefined;
  // An error would make the next run believe that this step has just broken off.
  const { errorCode: _code, errorMessage: _message, ...rest } = event;
  return {
    ...rest,
    ...(event.content && { content: { ...event.content, parts } }),
    customMetadata: { ...metadata, ...(hasKept && { kept }), ...(reply !== undefined && { reply }) },
  };
}

/** Calls by which agents hand over to each other. They have no effect of their own. */
export function isHandover({ name }: Pick<Call, "name">): boolean {
  return name === "transfer_to_agent" || name === taskCompleted;
}
