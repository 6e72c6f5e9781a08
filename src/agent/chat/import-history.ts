import type { UIMessage, UIMessageChunk } from "ai";
import type { NewLogEntry, Store } from "../../stores/index.ts";
import { importedEvent } from "../adk/imported-event.ts";
import { newId } from "../support/index.ts";

/**
 * Gives a new chat the conversation that its client had before: as the model's history, and as turns of the log, so that
 * a reload shows it. The messages have only texts and files.
 */
export async function importHistory(
  messages: readonly UIMessage[],
  chat: string,
  { store, agentName }: { store: Store; agentName: string },
): Promise<void> {
  for (const message of messages) await store.appendEvent(chat, importedEvent(message, agentName));
  const entries: NewLogEntry[] = [];
  for (const [index, message] of messages.entries()) {
    if (message.role === "assistant" && messages[index - 1]?.role === "user") continue;
    const next = messages[index + 1];
    const reply = message.role === "assistant" ? message : next?.role === "assistant" ? next : undefined;
    entries.push(...importedTurn(message, reply));
  }
  if (entries.length > 0) await store.append(chat, entries);
}

/** The turn of a user's message and the reply to it, of which either may be missing. */
function importedTurn(message: UIMessage, reply: UIMessage | undefined): NewLogEntry[] {
  const turn = newId("turn");
  const chunks: UIMessageChunk[] = reply
    ? [
        { type: "start", messageId: reply.id },
        { type: "start-step" },
        ...reply.parts.flatMap((part, index) => partToChunks(part, `text-${index + 1}`)),
        { type: "finish-step" },
        { type: "finish", finishReason: "stop" },
      ]
    : [];
  return [
    { turn, kind: "begin", reply: reply?.id ?? newId("msg"), ...(message.role === "user" && { message }) },
    ...chunks.map((chunk): NewLogEntry => ({ turn, kind: "chunk", chunk })),
    { turn, kind: "end", ...(reply && { message: asReplied(reply) }) },
  ];
}

/** The message as AI SDK makes it of the chunks. */
function asReplied({ id, parts }: UIMessage): UIMessage {
  const done = parts.map((part) => (part.type === "text" ? { ...part, state: "done" as const } : part));
  return { id, role: "assistant", parts: [{ type: "step-start" }, ...done] };
}

function partToChunks(part: UIMessage["parts"][number], id: string): UIMessageChunk[] {
  switch (part.type) {
    case "text":
      return [
        { type: "text-start", id },
        { type: "text-delta", id, delta: part.text },
        { type: "text-end", id },
      ];
    case "file":
      return [{ type: "file", url: part.url, mediaType: part.mediaType }];
    default:
      return [];
  }
}
