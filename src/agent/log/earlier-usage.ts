import type { Store } from "../../stores/index.ts";
import type { Usage } from "./usage.ts";

/**
 * The usage of the turns that have written to a message so far, for a turn that continues it. The end of each turn has
 * the sum up to then, and the stored message has the last one.
 */
export async function earlierUsage(
  store: Pick<Store, "getMessage">,
  chat: string,
  reply: string,
): Promise<Usage | undefined> {
  const stored = await store.getMessage(chat, reply);
  return (stored?.message.metadata as { usage?: Usage } | undefined)?.usage;
}
