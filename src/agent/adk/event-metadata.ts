import type { Event } from "@google/adk";

/**
 * Everything we attach to ADK events. ADK has one field for it, `customMetadata`, which it stores and passes on without
 * reading it. The keys are in stored histories, so they do not change.
 */
export interface EventMetadata {
  /** The id of the user's message that this event stores. */
  message?: string;
  /** A hash of that message's content, if it has files. */
  said?: string;
  /** The id of the assistant message that shows this event. Events of older releases do not have it. */
  reply?: string;
  /** On a note: the id of the call that it is about. Notes of older releases do not have it. */
  about?: string;
  /**
   * On the response event of a step in which calls were held: the results of the other calls, set aside until every call
   * of the step is settled. Empty when there are none, so the field also marks "a call was held here".
   */
  kept?: readonly KeptPart[];
  /** The inputs of the event's calls, as JSON, where the schema of the tool made something else of the model's arguments. */
  inputs?: readonly { id: string; input: Record<string, unknown> }[];
  /** On the same event: the agent that another call of the step hands over to, once every call is settled. */
  transfer?: string;
  /** Calls whose response only said "not known yet". Their outcome is told later, in a note. */
  unknown?: readonly string[];
  /** What a live connection reports besides the model's own output. Never stored. */
  notice?: Notice;
  /** On the end of a live model's turn: the calls it had made that had no response at that moment. */
  owed?: readonly string[];
}

/** The result of a call that ran in the same step as a held call. */
export interface KeptPart {
  functionResponse: { id: string; name: string; response: Record<string, unknown> };
}

export interface Notice {
  /** The history was sent, and the model listens. */
  connected?: true;
  /** The model cancelled these calls. */
  cancelled?: readonly string[];
  /** The server will close the connection soon. */
  goAway?: true;
}

/** What we attached to an event; empty when nothing. */
export function metadataOf(event: Pick<Event, "customMetadata">): EventMetadata {
  return event.customMetadata ?? {};
}

/** The field that carries the metadata, for a new event or response. */
export function withMetadata(metadata: EventMetadata): { customMetadata: Record<string, unknown> } {
  return { customMetadata: { ...metadata } };
}

/** Adds metadata to an existing event, in place. */
export function addMetadata(event: Event, metadata: EventMetadata): void {
  event.customMetadata = { ...event.customMetadata, ...metadata };
}

/** True when a call was held in the step that this event ends. */
export function hasHeldCall(event: Pick<Event, "customMetadata">): boolean {
  return metadataOf(event).kept !== undefined;
}
