import { createEvent, type Event } from "@google/adk";
import { getToolName, isToolUIPart, type UIMessage } from "ai";
import { messageEvent, noteEvent } from "./new-events.ts";

/** Longer results are cut in the model's history. The messages have the whole. */
const maxResult = 8000;

/**
 * A message of an imported chat as the model reads it. What the assistant said is said by the agent. Calls are told in
 * notes: the tools may not exist here, and a call that the model sees as its own would have to have an approval.
 */
export function importedEvents(message: UIMessage, agent: string): Event[] {
  if (message.role === "user") {
    const said = messageEvent(message);
    // No model accepts a message without parts. This one may have only an empty text.
    return said.content?.parts?.length ? [said] : [];
  }
  return message.parts.flatMap((part, index): Event[] => {
    if (part.type === "text" && part.text !== "")
      return [createEvent({ author: agent, content: { role: "model", parts: [{ text: part.text }] } })];
    if (!isToolUIPart(part)) return [];
    const result = "output" in part && part.output !== undefined ? part.output : "errorText" in part && part.errorText;
    const text = `The earlier call ${getToolName(part)}(${toText(part.input)}) ended as ${part.state}: ${toText(result)}`;
    return [noteEvent(`${message.id}-${index}`, `[context, not from the user] ${text}`)];
  });
}

function toText(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > maxResult ? `${text.slice(0, maxResult)}…` : text;
}
