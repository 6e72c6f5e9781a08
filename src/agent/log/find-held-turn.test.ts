import { expect, test } from "vitest";
import { memoryStore } from "../../stores/memory.ts";
import { findTurnAt } from "./find-held-turn.ts";

test("a long reply is looked through in pieces: each read holds the event loop, and its reader chooses the place", async () => {
  const store = memoryStore();
  const { id: chat } = await store.openChat({ owner: "me", name: "chat", appName: "app" });
  const words = Array.from({ length: 30_000 }, (_, index) => ({
    ...{ kind: "chunk" as const, turn: "t1" },
    chunk: { type: "text-delta" as const, id: "1", delta: `${index}` },
  }));
  await store.append(chat, [{ kind: "begin", turn: "t1", reply: "m1" }, ...words]);
  let largest = 0;
  const { read } = store;
  const measured = Object.assign(Object.create(store) as typeof store, {
    async read(...given: Parameters<typeof read>) {
      const entries = await read.apply(store, given);
      largest = Math.max(largest, entries.length);
      return entries;
    },
  });
  const sequence = await store.lastSequence(chat);
  expect(await findTurnAt(measured, chat, sequence)).toEqual({ id: "t1", reply: "m1", after: 0, end: "open" });
  expect(largest).toBeLessThanOrEqual(4096);
});
