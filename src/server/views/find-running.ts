import type { UIMessage } from "ai";
import type { Bridge, Reading } from "../../agent/index.ts";
import { type Confirmation, messagesInDialect } from "./dialect.ts";

/**
 * The turn that is being generated, and the message it continues as it was before, in the reader's dialect; undefined if
 * no turn is being generated.
 */
export async function findRunning(
  bridge: Pick<Bridge, "resume" | "message">,
  owner: string,
  chat: string,
  confirmation: Confirmation,
): Promise<{ reading: Reading; message: UIMessage | undefined } | undefined> {
  for (;;) {
    const reading = await bridge.resume(owner, chat);
    if (!reading) return undefined;
    const found = await bridge.message(owner, chat, reading.turn.reply);
    // The message is without the running turn, so it fits the turn only if no other turn began in between.
    const still = await bridge.resume(owner, chat);
    if (still?.turn.id !== reading.turn.id) continue;
    return { reading, message: found && messagesInDialect([found.message], confirmation, found.approvals)[0] };
  }
}
