import type { Event } from "@google/adk";
import { metadataOf } from "../adk/event-metadata.ts";
import { callsOf, hasText, responsesOf } from "../adk/history.ts";
import { taskCompleted } from "../adk/missing-tool.ts";
import type { ReplyEvent } from "./reply-state.ts";

/** What an ADK event means for a live reply. `awaited` are the calls that have no response yet, this event included. */
export function toReplyEvent(event: Event, awaited: ReadonlySet<string>): ReplyEvent | undefined {
  const { notice, owed = [] } = metadataOf(event);
  if (notice) return notice.connected ? "another" : undefined;
  // Most events are pieces of text.
  if (event.partial) return hasText(event) ? "text" : undefined;
  const responses = responsesOf(event);
  if (event.actions?.escalate === true || responses.some(({ name }) => name === taskCompleted)) return "completed";
  if (event.interrupted && !event.turnComplete) return "interrupted";
  if (event.turnComplete) {
    // An interruption and the end it is followed by, in one event: more may follow here too.
    if (event.interrupted || owed.some((id) => !awaited.has(id))) return "end-responded";
    return owed.length > 0 ? "end-waiting" : "end";
  }
  if (callsOf(event).length > 0) return "calls";
  if (responses.length > 0) return "results";
  return hasText(event) ? "text" : undefined;
}
