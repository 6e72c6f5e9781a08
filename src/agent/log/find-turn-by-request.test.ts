import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { memoryStore } from "../../stores/memory.ts";
import { overrideStore } from "../../stores/override-store.ts";
import type { NewLogEntry } from "../../stores/index.ts";
import { findTurnByRequest } from "./find-turn-by-request.ts";

const message = (id: string, words = id): UIMessage => ({ id, role: "user", parts: [{ type: "text", text: words }] });
const begin = (turn: string, request?: string, begins?: UIMessage): NewLogEntry => ({
  ...{ turn, kind: "begin", reply: `reply-${turn}` },
  ...(begins && { message: begins }),
  origin: { mode: "request", actor: "me", request },
});
const words = (turn: string, count: number): NewLogEntry[] =>
  Array.from({ length: count }, () => ({ turn, kind: "chunk", chunk: { type: "text-delta", id: "1", delta: "x" } }));

async function logOf(...entries: NewLogEntry[]) {
  const store = memoryStore();
  const { id } = await store.openChat({ owner: "me", name: "chat", appName: "app" });
  await store.append(id, entries);
  return { store, id };
}

test("a turn is found by its request behind a long reply, and the log is read in pages", async () => {
  const { store, id } = await logOf(begin("a", "r1", message("m1")), ...words("a", 1000), begin("b", "r2"));
  let most = 0;
  const counted = overrideStore(store, {
    async read(...asked) {
      const entries = await store.read(...asked);
      most = Math.max(most, entries.length);
      return entries;
    },
  });
  expect(await findTurnByRequest(counted, id, { id: "r2" })).toEqual({ id: "b", reply: "reply-b", after: 1001 });
  expect(await findTurnByRequest(counted, id, { id: "r3" })).toBeUndefined();
  expect(most).toBeLessThan(500);
});

test("a turn before the last message of the user is not looked for", async () => {
  const { store, id } = await logOf(begin("a", "r1", message("m1")), begin("b", "r2", message("m2")));
  expect(await findTurnByRequest(store, id, { id: "r1" })).toBeUndefined();
});

test("a message that came after the request, and is its own, names a turn that does not name the request", async () => {
  const { store, id } = await logOf(begin("a", undefined, message("m1")), begin("b", undefined, message("m2")));
  const found = { id: "b", reply: "reply-b", after: 1 };
  expect(await findTurnByRequest(store, id, { id: "r", since: 1, message: message("m2") })).toEqual(found);
  // It was there before the request, or another message has the same id, or the request has no message.
  expect(await findTurnByRequest(store, id, { id: "r", since: 2, message: message("m2") })).toBeUndefined();
  expect(await findTurnByRequest(store, id, { id: "r", since: 1, message: message("m2", "edited") })).toBeUndefined();
  expect(await findTurnByRequest(store, id, { id: "r", since: 1 })).toBeUndefined();
  expect(await findTurnByRequest(store, id, { id: "r", message: message("m2") })).toBeUndefined();
});
