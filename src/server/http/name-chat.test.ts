import { expect, test } from "vitest";
import { nameChat } from "./name-chat.ts";

test.each([
  ["chat_0123", "chat_0123"],
  ["a/b?c=d%20", "a/b?c=d%20"],
  ["my chat", "my%20chat"],
  ["花子", "%E8%8A%B1%E5%AD%90"],
  ["\ud800", "%EF%BF%BD"],
])("names the chat %j as %j", (chat, header) => {
  expect(nameChat(new Response(), chat).headers.get("x-chat-id")).toBe(header);
});
