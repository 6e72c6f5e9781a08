import { expect, test } from "vitest";
import { websocketUrl } from "./websocket-url.ts";

test.each([
  ["http://localhost:3000/live", undefined, "ws://localhost:3000/live?sequence=1"],
  ["https://example.com/live", undefined, "wss://example.com/live?sequence=1"],
  ["wss://example.com/live?confirmation=tool", undefined, "wss://example.com/live?confirmation=tool&sequence=1"],
  ["/live#top", "https://example.com/chats/1?x=2#y", "wss://example.com/live?sequence=1"],
  ["live?sequence=0", "http://example.com/chats/", "ws://example.com/chats/live?sequence=1"],
  [new URL("http://[::1]:80/live"), undefined, "ws://[::1]/live?sequence=1"],
])("%s on the page %s is %s", (given, page, url) => {
  expect(websocketUrl(given, page)).toBe(url);
});

test("throws for a path without a page to resolve it against", () => {
  expect(() => websocketUrl("/live")).toThrow(TypeError);
});
