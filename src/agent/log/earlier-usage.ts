import type { UIMessageChunk } from "ai";
import type { Store } from "../../stores/index.ts";
import { readBackwards } from "./follow-log.ts";
import type { Usage } from "./usage.ts";

/**
 * The usage of the turns that have written to a message so far, for a turn that continues it. The end of each turn has
 * the sum up to then, so the last one counts. It is read from the log, because the server may have restarted since.
 */
export async function earlierUsage(
  store: Pick<Store, "listApprovals" | "lastSequence" | "read">,
  chat: string,
  reply: string,
): Promise<Usage | undefined> {
  const rows = await store.listApprovals({ chat });
  // A message continues only after calls that waited. Without any, the log need not be searched.
  if (!rows.some(({ messageId }) => messageId === reply)) return undefined;
  /** The usage at the end of each turn whose beginning has not been found yet. */
  const ends = new Map<string, Usage>();
  for await (const entries of readBackwards(store, chat))
    for (const entry of entries.toReversed()) {
      if (entry.kind === "chunk") {
        const usage = usageOf(entry.chunk);
        if (usage && !ends.has(entry.turn)) ends.set(entry.turn, usage);
      }
      if (entry.kind !== "begin") continue;
      if (entry.reply === reply && (ends.has(entry.turn) || entry.message)) return ends.get(entry.turn);
      ends.delete(entry.turn);
    }
  return undefined;
}

function usageOf(chunk: UIMessageChunk): Usage | undefined {
  if (chunk.type !== "finish") return undefined;
  return (chunk.messageMetadata as { usage?: Usage } | undefined)?.usage;
}
