import { expect, test } from "vitest";
import { withChatId } from "./with-chat-id.ts";

test("names the chat in the start of a message, and nowhere else", async () => {
  const view = withChatId(async (chunk) => [chunk], "chat_1");
  const finish = { type: "finish", messageMetadata: { usage: 1 } } as const;
  expect(await view({ type: "start", messageId: "m", messageMetadata: { model: "x" } })).toEqual([
    { type: "start", messageId: "m", messageMetadata: { model: "x", chatId: "chat_1" } },
  ]);
  expect(await view(finish)).toEqual([finish]);
});

test("leaves the start alone if the client knows its chat", async () => {
  const start = { type: "start", messageId: "m" } as const;
  expect(await withChatId(async (chunk) => [chunk], undefined)(start)).toEqual([start]);
});
