import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { withOlderMessages, withPageBefore } from "./older-messages.ts";

const list = (ids: string): UIMessage[] => Array.from(ids, (id) => ({ id, role: "user", parts: [] }));
const ids = (messages: UIMessage[]) => messages.map(({ id }) => id).join("");

test.each([
  ["keeps the older messages", "abcdef", "defg", "c", "abcdefg"],
  ["drops them if messages between may be missing", "abc", "fgh", "e", "fgh"],
  ["drops them if the page is the whole chat", "abcd", "bcd", undefined, "bcd"],
  ["follows an edit that withdrew messages", "abcdef", "bcx", "a", "abcx"],
  ["shows an empty chat", "abc", "", undefined, ""],
])("the newest page %s", (_name, local, messages, before, shown) => {
  const page = { messages: list(messages), ...(before === undefined ? {} : { before }) };
  expect(ids(withOlderMessages(list(local), page))).toBe(shown);
});

test("an older page is put before the others", () => {
  expect(ids(withPageBefore(list("cd"), { messages: list("abc") }))).toBe("abcd");
});
