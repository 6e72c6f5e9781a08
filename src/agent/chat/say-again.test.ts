import type { UIMessage, UIMessageChunk } from "ai";
import { expect, it, vi } from "vitest";
import { memoryStore } from "../../stores/memory.ts";
import type { NewLogEntry } from "../../stores/index.ts";
import type { ChatTurns } from "./chat-turns.ts";
import { sayAgain } from "./say-again.ts";

const message: UIMessage = { id: "m-1", role: "user", parts: [{ type: "text", text: "A story" }] };
const chunk = (turn: string, value: UIMessageChunk): NewLogEntry => ({ turn, kind: "chunk", chunk: value });
const start = (turn: string): NewLogEntry[] => [
  { turn, kind: "begin", reply: "reply", ...(turn === "first" && { message }) },
  chunk(turn, { type: "start", messageId: "reply" }),
];

/** A chat whose reply was cut off. */
async function openChat() {
  const store = memoryStore();
  const chat = await store.openChat({ owner: "me", name: "chat", appName: "app" });
  await store.append(chat.id, [...start("first"), { turn: "first", kind: "end" }]);
  const queue = { chat, running: undefined };
  const enqueueUnasked = vi.fn(async () => ({ id: "again" }));
  const inChat = (_: string, section: (given: typeof queue) => unknown) => section(queue);
  const turns = { inChat, enqueueUnasked } as unknown as ChatTurns;
  const again = () => sayAgain({ message, reply: "reply" }, chat.id, { store, turns });
  return { store, chat: chat.id, enqueueUnasked, again };
}

it("makes a reply again that was cut off", async () => {
  const { again, enqueueUnasked } = await openChat();
  expect(await again()).toEqual({ id: "again" });
  expect(enqueueUnasked).toHaveBeenCalledOnce();
});

it("makes it once, also if two nodes are asked to do it", async () => {
  const { store, chat, again, enqueueUnasked } = await openChat();
  await store.append(chat, [...start("again"), chunk("again", { type: "finish" }), { turn: "again", kind: "end" }]);
  expect(await again()).toBeUndefined();
  expect(enqueueUnasked).not.toHaveBeenCalled();
});

it("makes nothing again if the user has written since", async () => {
  const { store, chat, again } = await openChat();
  const next: UIMessage = { ...message, id: "m-2" };
  await store.append(chat, [{ turn: "next", kind: "begin", reply: "other", message: next }]);
  expect(await again()).toBeUndefined();
});
