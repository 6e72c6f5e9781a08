import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { showsMore } from "./shows-more.ts";

const message = (id: string, role: UIMessage["role"], text: string): UIMessage => ({
  id,
  role,
  parts: [{ type: "text", text }],
});
const asked = message("u", "user", "Tell me a story");
const half = message("a", "assistant", "Once upon a");

test("the page shows more while the words of a reply are being made again", () => {
  expect(showsMore([asked, half], [asked])).toBe(true);
  expect(showsMore([asked, half], [asked, message("a", "assistant", "")])).toBe(true);
  expect(showsMore([asked, half], [message("other-id", "user", "Tell me a story")])).toBe(true);
});

test("the page shows no more after the reply, another message, or a question of its own", () => {
  expect(showsMore([asked, half], [asked, message("a", "assistant", "Once upon a time")])).toBe(false);
  expect(showsMore([asked, half], [asked, half])).toBe(false);
  expect(showsMore([asked, half], [asked, half, message("u2", "user", "Stop")])).toBe(false);
  expect(showsMore([asked], [])).toBe(false);
  expect(showsMore([], [])).toBe(false);
});
