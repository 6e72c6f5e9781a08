import type { BridgeParts } from "./bridge-parts.ts";
import { atMost } from "./support/index.ts";
import type { Upkeep } from "./upkeep.ts";

/** Stops the turns of a bridge, and gives running tools `drainMs` to end. */
export async function closeParts(
  parts: BridgeParts,
  { drainMs, upkeep }: { drainMs: number; upkeep: Upkeep },
): Promise<void> {
  parts.readiness.stop();
  parts.relay.close();
  parts.policies.close();
  let isOver = false;
  const end = async () => {
    await parts.turns.close();
    await parts.conversations.closeAll();
    await upkeep.over();
    // Another node may go on at once. Tools that run record their outcomes without the chat.
    await parts.turns.release();
    await parts.executor.idle();
    isOver = true;
  };
  await atMost(drainMs, end());
  parts.executor.close();
  // Closing its toolset would end a call that still runs, and its outcome would be recorded as a failure.
  if (isOver) return parts.toolsets.close();
  const { chats } = parts.turns;
  parts.turns.abandon();
  void parts.conversations.closeAll();
  void parts.turns.release();
  parts.logger.warn("Closing has left work that takes longer than drainMs.", {
    ...{ drainMs, calls: parts.executor.running, chats },
  });
}
