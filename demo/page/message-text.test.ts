import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { editedParts, messageText, withdrawsMore } from "./message-text.ts";

const file = { type: "file" as const, mediaType: "image/png", url: "/files/1" };
const text = (words: string) => ({ type: "text" as const, text: words });
const message = (id: string): UIMessage => ({ id, role: "assistant", parts: [] });

test("the words of a message are its text parts", () => {
  expect(messageText({ parts: [text("a"), file, text(""), { type: "step-start" }, text("b")] })).toBe("a\n\nb");
  expect(messageText({ parts: [file] })).toBe("");
});

test("an edit keeps the files", () => {
  expect(editedParts({ parts: [text("a"), file, text("b")] }, "c")).toEqual([file, text("c")]);
});

test("another reply asks first if messages follow or a question waits", () => {
  const messages = [message("1"), message("2")];
  const none = () => false;
  expect(withdrawsMore(messages, "1", none)).toBe(true);
  expect(withdrawsMore(messages, "2", none)).toBe(false);
  expect(withdrawsMore(messages, "2", () => true)).toBe(true);
  expect(withdrawsMore(messages, "3", none)).toBe(false);
});
