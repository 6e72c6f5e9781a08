import { expect, it, vi } from "vitest";
import { memoryStore } from "../../stores/memory.ts";
import { silentLogger } from "../support/index.ts";
import { closeOpenTurns } from "./recover.ts";

it("leaves a turn alone that has ended since it was found open", async () => {
  const store = memoryStore();
  const chat = await store.openChat({ owner: "me", name: "chat", appName: "app" });
  const [turn, reply] = ["turn", "msg"];
  const message = { id: reply, role: "assistant" as const, parts: [{ type: "text" as const, text: "a" }] };
  await store.append(chat.id, [
    { turn, kind: "begin", reply, origin: { mode: "request", actor: "me" } },
    { turn, kind: "chunk", chunk: { type: "start", messageId: reply } },
    { turn, kind: "chunk", chunk: { type: "text-start", id: "1" } },
    { turn, kind: "chunk", chunk: { type: "text-delta", id: "1", delta: "a" } },
  ]);
  const { events } = store;
  vi.spyOn(store, "events").mockImplementationOnce(async (...args) => {
    await store.append(chat.id, [{ turn, kind: "end", message }]);
    return events(...args);
  });
  const context = { store, logger: silentLogger, keepMessage: async () => undefined };
  expect(await closeOpenTurns(chat, context)).toBeUndefined();
  expect((await store.read(chat.id)).filter(({ kind }) => kind === "end")).toHaveLength(1);
  expect((await store.getMessage(chat.id, reply))?.message).toEqual(message);
});
