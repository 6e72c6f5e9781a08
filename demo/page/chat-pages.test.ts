import { describe, expect, test } from "vitest";
import { searchChats, waitingElsewhere, withFirstPage, withNextPage } from "./chat-pages.ts";
import type { ChatSummary } from "./chats-api.ts";

const chat = (id: string, updatedAt: number, more: Partial<ChatSummary> = {}): ChatSummary => ({
  id,
  title: id,
  createdAt: 0,
  updatedAt,
  pending: 0,
  ...more,
});
const ids = ({ chats }: { chats: readonly ChatSummary[] }) => chats.map(({ id }) => id);

describe("a new first page", () => {
  const known = { chats: [chat("d", 4), chat("c", 3), chat("b", 2), chat("a", 1)], cursor: "old" };

  test("moves a chat that changed to the top and keeps the later pages", () => {
    const pages = withFirstPage(known, { chats: [chat("a", 5), chat("d", 4)], cursor: "new" });
    expect(ids(pages)).toEqual(["a", "d", "c", "b"]);
    expect(pages.cursor).toBe("old");
  });

  test("drops a chat that should be on it and is not", () => {
    expect(ids(withFirstPage(known, { chats: [chat("d", 4), chat("b", 2)], cursor: "new" }))).toEqual(["d", "b", "a"]);
  });

  test("is everything if there is no page after it", () => {
    expect(withFirstPage(known, { chats: [chat("b", 2)] })).toEqual({ chats: [chat("b", 2)], cursor: undefined });
    expect(withFirstPage(known, { chats: [] })).toEqual({ chats: [], cursor: undefined });
  });

  test("replaces the others if chats between them may be missing", () => {
    const pages = withFirstPage(known, { chats: [chat("z", 9), chat("y", 8)], cursor: "new" });
    expect(ids(pages)).toEqual(["z", "y"]);
    expect(pages.cursor).toBe("new");
  });
});

test("the next page does not repeat a chat", () => {
  const pages = withNextPage({ chats: [chat("b", 2)], cursor: "1" }, { chats: [chat("b", 1), chat("a", 1)] });
  expect(ids(pages)).toEqual(["b", "a"]);
  expect(pages.cursor).toBeUndefined();
});

test("a search finds all words in any case and width", () => {
  const chats = [chat("1", 1, { title: "Send 50 dollars to Hanako" }), chat("2", 2, { title: "花子さんに50ドル" })];
  expect(searchChats(chats, " hanako  SEND ").map(({ id }) => id)).toEqual(["1"]);
  expect(searchChats(chats, "５０").map(({ id }) => id)).toEqual(["1", "2"]);
  expect(searchChats(chats, "Bob")).toEqual([]);
  expect(searchChats(chats, "")).toHaveLength(2);
});

test("requests of the open chat do not wait elsewhere", () => {
  expect(waitingElsewhere([chat("1", 1, { pending: 2 }), chat("2", 1, { pending: 3 })], "1")).toBe(3);
});
