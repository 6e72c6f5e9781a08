import { expect, test } from "vitest";
import { chatIdOf, newChatId, withChatId } from "./chat-id.ts";

test("a chat id is 128 random bits", () => {
  expect(newChatId()).toMatch(/^[0-9a-f]{32}$/);
  expect(newChatId()).not.toBe(newChatId());
});

test("the chat id is added to the address, which keeps its other parameters", () => {
  const address = withChatId("http://127.0.0.1:3000/?ai=6", "abc");
  expect(address).toBe("http://127.0.0.1:3000/?ai=6&chat=abc");
  expect(chatIdOf(address)).toBe("abc");
  expect(chatIdOf("http://127.0.0.1:3000/?chat=")).toBeUndefined();
});
