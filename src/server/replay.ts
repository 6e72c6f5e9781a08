import type { UIMessage } from "ai";
import type { Bridge, Reading } from "../agent/index.ts";
import { type Confirmation, messagesInDialect, type Translate } from "./dialect.ts";
import { denialToError, messageToChunks } from "./message-to-chunks.ts";

/** What is being generated, and the message it goes on with as it was before; undefined when nothing is. */
export async function findRunning(
  bridge: Bridge,
  owner: string,
  chat: string,
  confirmation: Confirmation,
): Promise<{ reading: Reading; message: UIMessage | undefined } | undefined> {
  for (;;) {
    const reading = await bridge.resume(owner, chat);
    if (!reading) return undefined;
    const messages = await bridge.messages(owner, chat);
    const { approvals } = await bridge.approvals(owner, { chat });
    // The messages leave out the running turn. Only if it was this one all the time, the two fit together.
    const still = await bridge.resume(owner, chat);
    if (still?.turn.id !== reading.turn.id) continue;
    const message = messages.find(({ id }) => id === reading.turn.reply);
    return { reading, message: message && messagesInDialect([message], confirmation, approvals)[0] };
  }
}

/** A translator for a reader who begins with nothing: behind `start` comes what the message had before. */
export function replaying(translate: Translate, message: UIMessage | undefined): Translate {
  if (!message) return translate;
  const chunks = messageToChunks(message);
  const settled = new Set(chunks.flatMap((chunk) => (chunk.type === "tool-output-error" ? [chunk.toolCallId] : [])));
  return async (chunk) => {
    if (chunk.type === "tool-output-denied")
      return settled.has(chunk.toolCallId) ? [] : translate(denialToError(chunk.toolCallId, undefined));
    const translated = await translate(chunk);
    return chunk.type === "start" ? [...translated, ...chunks] : translated;
  };
}
