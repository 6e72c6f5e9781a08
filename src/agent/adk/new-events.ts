import { createHash } from "node:crypto";
import { createEvent, createEventActions, type Event } from "@google/adk";
import type { UIMessage } from "ai";
import { type EventMetadata, metadataOf, withMetadata } from "./event-metadata.ts";
import type { OpenCall } from "./history.ts";
import type { ToolActions } from "./tool-actions.ts";
import { messageToContent } from "./message-to-content.ts";

/** Events that we, and not ADK, append to a history. */

/** The response to one call, in the form in which the history keeps it. */
export interface CallResponse {
  open: OpenCall;
  response: Record<string, unknown>;
  /** Calls whose outcome this response does not tell. */
  unknown?: readonly string[] | undefined;
  stateDelta?: Record<string, unknown> | undefined;
  actions?: ToolActions | undefined;
}

/**
 * The responses to calls of one step in one event, as ADK writes them, in the name of the agent that made the calls. Only a
 * response that is alone may have actions.
 */
export function responseEvent(first: CallResponse, ...others: readonly CallResponse[]): Event {
  const { invocationId, author, branch } = first.open.event;
  const all = [first, ...others];
  const unknown = all.flatMap((each) => each.unknown ?? []);
  const stateDelta = Object.assign({}, ...all.map((each) => each.stateDelta)) as Record<string, unknown>;
  const parts = all.map(({ open: { call }, response }) => ({
    functionResponse: { id: call.id, name: call.name, response },
  }));
  return createEvent({
    actions: createEventActions({ stateDelta, ...first.actions }),
    invocationId,
    author,
    branch,
    content: { role: "user", parts },
    ...(unknown.length > 0 && withMetadata({ unknown })),
  });
}

/**
 * A note to the model in the place of a user's message. The id is the caller's, so writing the same note twice replaces
 * it.
 */
export function noteEvent(
  id: string,
  text: string,
  metadata?: Pick<EventMetadata, "about" | "unknown" | "reply">,
): Event {
  return createEvent({
    id,
    author: "user",
    content: { role: "user", parts: [{ text }] },
    ...(metadata && withMetadata(metadata)),
  });
}

export interface Note {
  id: string;
  text: string;
  /** The id of the call that it is about. */
  about: string;
}

/** An event without content in the name of the agent that takes over, so that the next run starts there. */
export function handoverEvent(agent: string): Event {
  return createEvent({ author: agent });
}

/**
 * An event without content. After a response ADK resumes the agent that made the call; an empty user event makes the next
 * run start at the root agent.
 */
export function emptyEvent(): Event {
  return createEvent({ author: "user" });
}

/** A user's message as the history stores it, with its id. */
export function messageEvent(message: UIMessage): Event {
  return createEvent({
    author: "user",
    content: messageToContent(message),
    ...withMetadata(messageMetadata(message)),
  });
}

/** What the event that stores a user's message says about it. The store keeps files elsewhere, hence their hash. */
export function messageMetadata(message: UIMessage): EventMetadata {
  const hasFiles = message.parts.some(({ type }) => type === "file");
  return { message: message.id, ...(hasFiles && { said: contentHash(message) }) };
}

/** True for the event that stores this message with its present content: users may edit what they sent. */
export function storesMessage(event: Event, message: UIMessage): boolean {
  const { message: id, said } = metadataOf(event);
  if (id !== message.id) return false;
  if (said !== undefined) return said === contentHash(message);
  return JSON.stringify(event.content?.parts) === JSON.stringify(messageToContent(message).parts);
}

function contentHash(message: UIMessage): string {
  return createHash("sha256")
    .update(JSON.stringify(messageToContent(message).parts))
    .digest("hex")
    .slice(0, 32);
}
