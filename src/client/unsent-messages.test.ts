import type { AbstractChat, UIMessage } from "ai";
import { expect, it } from "vitest";
import { unsentMessages } from "./unsent-messages.ts";

const message = (id: string, words = id, ...urls: string[]): UIMessage => ({
  id,
  role: "user",
  parts: [
    { type: "text", text: words },
    ...urls.map((url) => ({ type: "file", mediaType: "image/png", url }) as const),
  ],
});
const wordsOf = (messages: readonly UIMessage[]) => messages.map(({ parts }) => (parts[0] as { text: string }).text);

/** A chat whose server has a, b and c. */
function open() {
  const chat = { messages: [message("a"), message("b"), message("c")] };
  const unsent = unsentMessages(chat as unknown as AbstractChat<UIMessage>);
  const server = [...chat.messages];
  unsent.receive(server);
  /** The request of the last message fails. */
  const fail = (...messages: UIMessage[]) => {
    Object.assign(chat, { messages });
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

it("keeps no message that the server has", () => {
  const { unsent, fail } = open();
  fail(message("a"), message("b", "other words"));
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

it("keeps an edit of a message that was not read back yet", () => {
  const { chat, unsent, server, fail } = open();
  chat.messages = [...server, message("new")];
  unsent.edit("new");
  fail(...server, message("new", "edited"));
  unsent.receive([...server, message("new")]);
  expect(unsent.ids()).toEqual(["new"]);
  expect(wordsOf(unsent.mergedWith([...server, message("new")], chat.messages))).toEqual(["a", "b", "c", "edited"]);
  unsent.receive([message("new", "edited")]);
  expect(unsent.ids()).toEqual([]);
});

it("keeps the second of two edits also if the first one came to the server", () => {
  const { unsent, fail } = open();
  unsent.edit("c");
  fail(message("a"), message("b"), message("c", "first"));
  unsent.edit("c");
  fail(message("a"), message("b"), message("c", "second"));
  unsent.receive([message("c", "first")]);
  expect(unsent.ids()).toEqual(["c"]);
  unsent.receive([message("c", "second")]);
  expect(unsent.ids()).toEqual([]);
});

it("does not keep an edit without a change when the server has the message", () => {
  const { unsent, server, fail } = open();
  unsent.edit("c");
  expect(fail(...server)).toBe(true);
  unsent.receive(server);
  expect([unsent.ids(), unsent.keep()]).toEqual([[], false]);
});

const [one, two] = ["data:image/png;base64,AAAA", "data:image/png;base64,BBBB"] as const;
const address = `/files/${"0".repeat(32)}`;

it.each([
  [
    "with other words, while the server names the file by its address",
    message("c", "c", one),
    message("c", "new", one),
  ],
  ["with another file", message("c", "c", address), message("c", "c", two)],
  ["with another file, of a message that was not read back yet", message("c", "c", one), message("c", "c", two)],
])("keeps an edit %s", (_, before, edited) => {
  const { chat, unsent, fail } = open();
  chat.messages = [before];
  unsent.edit("c");
  fail(edited);
  unsent.receive([message("c", "c", address)]);
  expect(unsent.ids()).toEqual(["c"]);
});

it.each([
  ["other words, and names the file by its address", one, message("c", "new", two), message("c", "new", address)],
  ["another file", one, message("c", "c", two), message("c", "c", two)],
  ["no change, and names the file by its address", one, message("c", "c", one), message("c", "c", address)],
  [
    "an empty text, which it leaves out",
    one,
    message("c", "", two),
    { ...message("c"), parts: message("c", "", two).parts.slice(1) },
  ],
])("lets go of an edit when the server has it: %s", (_, url, edited, stored) => {
  const { chat, unsent, fail } = open();
  chat.messages = [message("c", "c", url)];
  unsent.edit("c");
  fail(edited);
  unsent.receive([stored]);
  expect(unsent.ids()).toEqual([]);
});
