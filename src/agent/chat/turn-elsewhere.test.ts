import type { UIMessageChunk } from "ai";
import { expect, it } from "vitest";
import { memoryStore } from "../../stores/memory.ts";
import type { NewLogEntry } from "../../stores/index.ts";
import { findTurnElsewhere } from "./turn-elsewhere.ts";

const reply = "msg";
const begin = (turn: string): NewLogEntry => ({ turn, kind: "begin", reply });
const chunk = (value: UIMessageChunk): NewLogEntry => ({ turn: "cut", kind: "chunk", chunk: value });
const start = [begin("cut"), chunk({ type: "start", messageId: reply }), chunk({ type: "start-step" })];
const end: NewLogEntry = { turn: "cut", kind: "end" };

async function openChat(...entries: NewLogEntry[]) {
  const clock = { now: 1_800_000_000_000 };
  const store = memoryStore({ now: () => clock.now });
  const { id } = await store.openChat({ owner: "me", name: "chat", appName: "app" });
  await store.append(id, [...start, ...entries]);
  return { store, clock, chat: id };
}

it.each<[string, NewLogEntry[]]>([
  ["whose words were withdrawn", [{ turn: "cut", kind: "withdraw", from: 3 }, end]],
  ["whose calls stay", [chunk({ type: "finish-step" }), end]],
])("waits for the turn that makes a reply again that was cut off, %s", async (_, entries) => {
  const { store, chat } = await openChat(...entries);
  const found = findTurnElsewhere(store, chat);
  setTimeout(() => void store.append(chat, [begin("again")]), 50);
  expect(await found).toMatchObject({ id: "again", reply });
});

it("finds a turn that begins just after the look for it", async () => {
  const { store, chat } = await openChat({ turn: "cut", kind: "withdraw", from: 3 }, end);
  let hasBegun = false;
  const openTurns: typeof store.openTurns = async (filter) => {
    const found = await store.openTurns(filter);
    if (!hasBegun) await store.append(chat, [begin("again")]);
    hasBegun = true;
    return found;
  };
  expect(await findTurnElsewhere({ ...store, openTurns }, chat)).toMatchObject({ id: "again" });
});

it.each<[string, UIMessageChunk]>([
  ["is over", { type: "finish" }],
  ["was stopped", { type: "abort" }],
  ["says that it failed", { type: "error", errorText: "Failed." }],
])("waits for nothing after a reply that %s", async (_, last) => {
  const { store, chat } = await openChat(chunk(last), end);
  const found = findTurnElsewhere(store, chat);
  setTimeout(() => void store.append(chat, [begin("next")]), 50);
  expect(await found).toBeUndefined();
});

it("waits for nothing after a reply that was cut off long ago", async () => {
  const { store, chat, clock } = await openChat(chunk({ type: "finish-step" }), end);
  clock.now += 6000;
  const found = findTurnElsewhere(store, chat);
  setTimeout(() => void store.append(chat, [begin("next")]), 50);
  expect(await found).toBeUndefined();
});
