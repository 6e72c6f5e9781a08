import { expect, test } from "vitest";
import { foldLog } from "./fold-logs.ts";
import type { NewLogEntry } from "./log-store.ts";
import { memoryStore } from "./memory.ts";

const says = (turn: string, reply: string, ...words: string[]): NewLogEntry[] => [
  { turn, kind: "begin", reply, message: { id: `to-${turn}`, role: "user", parts: [] } },
  ...answers(turn, reply, ...words).slice(1),
];
const answers = (turn: string, reply: string, ...words: string[]): NewLogEntry[] => [
  { turn, kind: "begin", reply },
  { turn, kind: "chunk", chunk: { type: "start", messageId: reply } },
  { turn, kind: "chunk", chunk: { type: "text-start", id: turn } },
  ...words.map((delta): NewLogEntry => ({ turn, kind: "chunk", chunk: { type: "text-delta", id: turn, delta } })),
  { turn, kind: "chunk", chunk: { type: "text-end", id: turn } },
];
const message = (id: string, ...texts: string[]) => ({
  ...{ id, role: "assistant" as const },
  parts: texts.map((text) => ({ type: "text" as const, text, state: "done" as const })),
});

test("a log adds up to the messages that the store has, also what was withdrawn after an older message was changed", async () => {
  const store = memoryStore();
  const chat = await store.openChat({ owner: "me", name: "c", appName: "app" });
  const end = (turn: string, ...folded: Parameters<typeof message>): NewLogEntry => ({
    ...{ turn, kind: "end" },
    message: message(...folded),
  });
  await store.append(chat.id, [...says("t1", "m1", "One"), end("t1", "m1", "One")]);
  const from = (await store.lastSequence(chat.id)) + 1;
  await store.append(chat.id, [...says("t2", "m2", "Two"), end("t2", "m2", "Two")]);
  // A turn about the older message comes after the one that is withdrawn.
  await store.append(chat.id, [...answers("t3", "m1", "Three"), end("t3", "m1", "One", "Three")]);
  await store.append(chat.id, [{ turn: "t4", kind: "withdraw", from }]);
  await store.append(chat.id, [...says("t4", "m4", "Four"), end("t4", "m4", "Four")]);
  const folded = foldLog(await store.read(chat.id), (error) => {
    throw error;
  });
  const stored = await store.messages(chat.id);
  expect(stored.map((row) => row.message.id)).toEqual(["to-t1", "m1", "to-t4", "m4"]);
  expect(folded).toEqual(stored.map((row) => ({ message: row.message, sequence: row.sequence, at: row.at })));
});
