import { createEvent } from "@google/adk";
import type { UIMessage } from "ai";
import type { JsonObject, NewEvent } from "../../stores/index.ts";
import { withMetadata } from "./event-metadata.ts";
import { messageToContent } from "./message-to-content.ts";

/** A message that a client brought with it, as an event of a history. `agent` has said what the assistant says in it. */
export function importedEvent(message: UIMessage, agent: string): NewEvent {
  const isUser = message.role === "user";
  const event = createEvent({
    author: isUser ? "user" : agent,
    content: { ...messageToContent(message), role: isUser ? "user" : "model" },
    ...(isUser && withMetadata({ message: message.id })),
  });
  return { id: event.id, event: JSON.parse(JSON.stringify(event)) as JsonObject, responses: [] };
}
