import { createEvent, type Event } from "@google/adk";
import { getToolName, isToolUIPart, type UIMessage } from "ai";
import type { EffectClass } from "../../protocol/index.ts";
import { withMetadata } from "./event-metadata.ts";
import { messageEvent, noteEvent } from "./new-events.ts";

/** Longer results are cut in the model's history. The messages have the whole. */
const maxResult = 8000;

export interface ImportedHistoryOptions {
  /** The name of the root agent. */
  agent: string;
  effectOf: (toolName: string) => EffectClass;
}

/**
 * A message of an imported chat as the model reads it. What the assistant said is said by the agent. Calls are told in
 * notes: the tools may not exist here, and a call that the model sees as its own would have to have an approval. A note
 * leaves with its message, unless the call may have had an effect: that stays true.
 */
export function importedEvents(message: UIMessage, { agent, effectOf }: ImportedHistoryOptions): Event[] {
  if (message.role === "user") {
    const said = messageEvent(message);
    // No model accepts a message without parts. This one may have only an empty text.
    return said.content?.parts?.length ? [said] : [];
  }
  const reply = { reply: message.id };
  return message.parts.flatMap((part, index): Event[] => {
    if (part.type === "text" && part.text !== "") {
      const content = { role: "model", parts: [{ text: part.text }] };
      return [createEvent({ author: agent, content, ...withMetadata(reply) })];
    }
    if (!isToolUIPart(part)) return [];
    const name = getToolName(part);
    const result = "output" in part && part.output !== undefined ? part.output : "errorText" in part && part.errorText;
    const text = `The earlier call ${name}(${toText(part.input)}) ended as ${part.state}: ${toText(result)}`;
    const hasEffect = part.state !== "output-denied" && effectOf(name) !== "readonly";
    const metadata = hasEffect ? { about: part.toolCallId } : reply;
    return [noteEvent(`${message.id}-${index}`, `[context, not from the user] ${text}`, metadata)];
  });
}

function toText(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > maxResult ? `${text.slice(0, maxResult)}…` : text;
}
