import type { UIMessage } from "ai";
import type { Bridge, Reading } from "../../agent/index.ts";
import { type Confirmation, messagesInDialect } from "./dialect.ts";

/**
 * The turn that is being generated, and the message it continues as it was before, in the reader's dialect; undefined if
 * no turn is being generated.
 */
export async function findRunning(
  bridge: Pick<Bridge, "resume" | "messages" | "approvals">,
  owner: string,
  chat: string,
  confirmation: Confirmation,
): Promise<{ reading: Reading; message: UIMessage | undefined } | undefined> {
  for (;;) {
    const reading = await bridge.resume(owner, chat);
    if (!reading) return undefined;
    const messages = await bridge.messages(owner, chat);
    const { approvals } = await bridge.approvals(owner, { chat });
    // The messages leave out the running turn, so they fit the turn only if no other turn began in between.
    const still = await bridge.resume(owner, chat);
    if (still?.turn.id !== reading.turn.id) continue;
    const message = messages.find(({ id }) => id === reading.turn.reply);
    return { reading, message: message && messagesInDialect([message], confirmation, approvals)[0] };
  }
}
