import type { AbstractChat, UIMessage } from "ai";
import { expect, it } from "vitest";
import { unsentMessages } from "./unsent-messages.ts";

const message = (id: string, words = id): UIMessage => ({ id, role: "user", parts: [{ type: "text", text: words }] });
const wordsOf = (messages: readonly UIMessage[]) => messages.map(({ parts }) => (parts[0] as { text: string }).text);

/** A chat whose server has a, b and c. */
function open() {
  const chat = { messages: [message("a"), message("b"), message("c")], status: "ready" };
  const unsent = unsentMessages(chat as unknown as AbstractChat<UIMessage>);
  const server = [...chat.messages];
  unsent.receive(server);
  /** The request of the last message fails. */
  const fail = (...messages: UIMessage[]) => {
    Object.assign(chat, { messages, status: "error" });
    return unsent.keep();
  };
  return { chat, unsent, server, fail };
}

it("keeps a new message before the one that it was before", () => {
  const { unsent, server, fail } = open();
  expect(fail(message("a"), message("new"))).toBe(false);
  const local = [message("a"), message("new"), message("b")];
  expect(wordsOf(unsent.mergedWith(server, local))).toEqual(["a", "new", "b", "c"]);
});

it("keeps a new message last that was last, until the server has it", () => {
  const { unsent, server, fail } = open();
  fail(...server, message("new"));
  expect(wordsOf(unsent.mergedWith([...server, message("d")], [...server, message("new")]))).toEqual([
    ...["a", "b", "c", "d", "new"],
  ]);
  unsent.receive([message("new")]);
  expect(unsent.ids()).toEqual([]);
});

it("shows an edited message in its place, with what follows it, until the server has the edit", () => {
  const { unsent, server, fail } = open();
  unsent.edit("b");
  const local = [message("a"), message("b", "edited")];
  expect(fail(...local)).toBe(true);
  unsent.receive(server);
  expect(wordsOf(unsent.mergedWith(server, local))).toEqual(["a", "edited", "c"]);
  unsent.receive([message("b", "edited")]);
  expect(wordsOf(unsent.mergedWith(server, local))).toEqual(["a", "b", "c"]);
});

it("keeps no message that the server has, and none whose request did not fail", () => {
  const { chat, unsent, fail } = open();
  fail(message("a"), message("b", "other words"));
  Object.assign(chat, { messages: [message("new")], status: "ready" });
  unsent.keep();
  expect(unsent.ids()).toEqual([]);
});

it("gives a message to send it again: a new one leaves its place, an edit stays", () => {
  const { chat, unsent, server, fail } = open();
  fail(...server, message("new"));
  expect(unsent.take("new")).toEqual(message("new"));
  expect(chat.messages).toEqual(server);
  unsent.edit("b");
  fail(message("a"), message("b", "edited"));
  expect(unsent.take("b")).toEqual({ ...message("b", "edited"), messageId: "b" });
  expect(unsent.take("b")).toBeUndefined();
  expect(chat.messages).toHaveLength(2);
});
