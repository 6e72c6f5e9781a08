import { describe, expect, it } from "vitest";
import type { LogEntry, NewLogEntry } from "../../stores/index.ts";
import type { LogListener } from "../../stores/log-store.ts";
import { memoryStore } from "../../stores/memory.ts";
import { followLog, lastReply, readBackwards } from "./follow-log.ts";

async function logOf(entries: readonly NewLogEntry[]) {
  const store = memoryStore();
  const { id } = await store.openChat({ owner: "me", name: "chat", appName: "app" });
  await store.append(id, entries);
  return { store, id };
}

const begin = (reply: string): NewLogEntry => ({ kind: "begin", turn: reply, reply });
const words = (count: number): NewLogEntry[] =>
  Array.from({ length: count }, (_, index) => ({
    kind: "chunk",
    turn: "t",
    chunk: { type: "text-delta", id: "1", delta: `${index}` },
  }));

describe("reading a log backwards", () => {
  it.each([0, 1, 255, 256, 257, 1280, 1281, 3000])("gives each of %i entries once, the newest first", async (count) => {
    const { store, id } = await logOf(words(count));
    const read: LogEntry[] = [];
    for await (const entries of readBackwards(store, id)) read.unshift(...entries);
    expect(read).toEqual(await store.read(id));
  });

  it("finds the last message however much was said in it, and none in an empty log", async () => {
    const { store, id } = await logOf([begin("first"), begin("last"), ...words(2000)]);
    expect(await lastReply(store, id)).toBe("last");
    expect(await lastReply(memoryStore(), "nowhere")).toBeUndefined();
  });
});

describe("following a log", () => {
  it("takes entries from the watch, and reads the log only where some are missing", async () => {
    const { store, id } = await logOf([begin("a")]);
    let reads = 0;
    let brings = true;
    const counted = new Proxy(store, {
      get(target, name: keyof typeof store): unknown {
        if (name === "read")
          return (...args: Parameters<typeof store.read>) => {
            reads += 1;
            return target.read(...args);
          };
        if (name === "watch")
          return (chat: string, listener: LogListener) => target.watch(chat, (news) => listener(brings ? news : {}));
        return target[name];
      },
    });
    const leave = new AbortController();
    const seen: number[] = [];
    const log = followLog(counted, id, { after: 0, signal: leave.signal });
    const next = async () => {
      const { value = [] } = (await log.next()) as { value?: LogEntry[] };
      seen.push(...value.map(({ sequence }) => sequence));
    };
    await next();
    const waiting = next();
    await store.append(id, words(2));
    await waiting;
    const readBefore = reads;
    await store.append(id, words(3));
    await next();
    expect(reads).toBe(readBefore);
    // Another process appends: the watch says only that there is news.
    brings = false;
    await store.append(id, words(2));
    brings = true;
    await store.append(id, words(1));
    while (seen.length < 9) await next();
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    leave.abort();
    await log.return(undefined);
  });

  it("gives a slow reader every entry once, however many come meanwhile", async () => {
    const { store, id } = await logOf([begin("a")]);
    let end = () => {};
    const log = followLog(store, id, { after: 0, until: new Promise<void>((resolve) => (end = resolve)) });
    const seen: number[] = [];
    for await (const entries of log) {
      seen.push(...entries.map(({ sequence }) => sequence));
      if (seen.length < 2000) for (let count = 0; count < 9; count += 1) await store.append(id, words(50));
      else end();
    }
    expect(seen).toEqual((await store.read(id)).map(({ sequence }) => sequence));
  });
});
