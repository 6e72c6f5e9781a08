import type { UIMessage } from "ai";
import type { Bridge, HeldReading } from "../../agent/index.ts";
import { type Confirmation, messagesInDialect } from "./dialect.ts";

/**
 * What a held stream goes on with, and the message as it was before, in the reader's dialect. A reader that names the last
 * entry it has seen has that message already, unless it was withdrawn meanwhile.
 */
export async function findHeld(
  bridge: Pick<Bridge, "held" | "message">,
  { owner, chat, confirmation, after }: { owner: string; chat: string; confirmation: Confirmation; after?: number },
): Promise<{ reading: HeldReading; message?: UIMessage | undefined } | undefined> {
  for (;;) {
    const reading = await bridge.held(owner, chat, after);
    if (!reading) return undefined;
    const hasMessage = reading.from !== "turn" && "after" in reading.from;
    // The second dialect has to know what that message asks.
    if (hasMessage && confirmation === "approval") return { reading };
    const found = await bridge.message(owner, chat, reading.turn.reply);
    // The message fits only if the chat has not gone on in between.
    const still = await bridge.held(owner, chat, after);
    if (keyOf(still) !== keyOf(reading)) continue;
    return { reading, message: found && messagesInDialect([found.message], confirmation, found.approvals)[0] };
  }
}

function keyOf(reading: HeldReading | undefined): string | undefined {
  return reading && JSON.stringify([reading.turn.id, reading.from]);
}
