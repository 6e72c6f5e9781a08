import { describe, expect, it } from "vitest";
import type { LogEntry, NewLogEntry } from "../../stores/index.ts";
import { memoryStore } from "../../stores/memory.ts";
import { lastReply, readBackwards } from "./follow-log.ts";

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
