/** What every store must do with the list of chats, with pages, and with what is removed. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type LogEntry, type NewLogEntry, type Session, type Store, verifyAudit } from "../../src/stores/index.ts";
import { memoryStore } from "../../src/stores/memory.ts";
import { postgresStore } from "../../src/stores/postgres.ts";
import { sqliteStore } from "../../src/stores/sqlite.ts";
import { type TestDatabase, testDatabase } from "../fixtures/postgres.ts";
import { holdingChats, newApproval } from "./store.ts";

const folder = mkdtempSync(join(tmpdir(), "chat-store-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const start = 1_700_000_000_000;

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

const stores: { name: string; open: (now: () => number) => Store | Promise<Store> }[] = [
  { name: "memory", open: (now) => memoryStore({ now }) },
  { name: "SQLite", open: (now) => sqliteStore({ path: join(folder, `${(files += 1)}.db`), now }) },
  {
    name: "PostgreSQL",
    async open(now) {
      await database.empty();
      return postgresStore({ url: database.url, now });
    },
  },
];

/** The entries of a turn in which the user says `words` and the model repeats them. */
function turnOf(words: string, { reply = `reply to ${words}` } = {}): NewLogEntry[] {
  const turn = `turn of ${words}`;
  const message = { id: `message ${words}`, role: "user" as const, parts: [{ type: "text" as const, text: words }] };
  const parts = [{ type: "text" as const, text: words, state: "done" as const }];
  return [
    { turn, kind: "begin", reply, message },
    { turn, kind: "chunk", chunk: { type: "start", messageId: reply } },
    { turn, kind: "chunk", chunk: { type: "text-start", id: "t" } },
    { turn, kind: "chunk", chunk: { type: "text-delta", id: "t", delta: words } },
    { turn, kind: "chunk", chunk: { type: "text-end", id: "t" } },
    { turn, kind: "chunk", chunk: { type: "finish" } },
    { turn, kind: "end", message: { id: reply, role: "assistant", parts } },
  ];
}

const kinds = (entries: readonly LogEntry[]) =>
  entries.map((entry) => `${entry.sequence} ${entry.kind === "chunk" ? entry.chunk.type : entry.kind}`);

describe.each(stores)("chats in the $name store", ({ open }) => {
  const clock = { at: start };
  const opened: Store[] = [];
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
  });
  const openStore = async () => {
    clock.at = start;
    const store = await open(() => clock.at);
    opened.push(store);
    return holdingChats(store);
  };
  const openChat = (store: Store, name: string, owner = "alice") => store.openChat({ owner, name, appName: "app" });
  const names = async (store: Store, owner = "alice") =>
    (await store.listChats({ owner, appName: "app" })).map(({ name }) => name);

  test("are listed by their last change, each owner's alone, without inner sessions", async () => {
    const store = await openStore();
    const chats: Session[] = [];
    for (const name of ["a", "b", "c"]) {
      chats.push(await openChat(store, name));
      clock.at += 1;
    }
    const [a, b, c] = chats as [Session, Session, Session];
    await openChat(store, "other", "bob");
    await store.openSession({ id: "inner", chat: a.id, appName: "tool" });
    expect(await names(store)).toEqual(["c", "b", "a"]);
    await store.append(a.id, turnOf("hello").slice(0, 2));
    expect(await names(store)).toEqual(["a", "c", "b"]);
    clock.at += 1;
    await store.append(b.id, turnOf("hello"));
    clock.at += 1;
    await store.append(a.id, turnOf("hello").slice(2));
    expect(await names(store)).toEqual(["a", "b", "c"]);
    clock.at += 1;
    const { id } = await store.createApproval(newApproval(c, "call"));
    expect(await names(store)).toEqual(["c", "a", "b"]);
    clock.at += 1;
    await store.createApproval(newApproval(b, "call"));
    clock.at += 1;
    await store.move(id, { event: "deny", by: "alice" });
    expect(await names(store)).toEqual(["c", "b", "a"]);
    // Nothing changes here.
    clock.at += 1;
    await store.append(a.id, turnOf("again").slice(1, 3));
    await store.setTitle(a.id, "A");
    expect(await names(store)).toEqual(["c", "b", "a"]);
    expect(await names(store, "nobody")).toEqual([]);
    expect((await store.listChats({ owner: "alice", appName: "app" }))[2]).toEqual({
      ...{ id: a.id, owner: "alice", name: "a", title: "A", appName: "app", createdAt: start, pending: 0 },
      updatedAt: expect.any(Number),
    });
  });

  test("are counted by the questions that wait in them", async () => {
    const store = await openStore();
    const chat = await openChat(store, "a");
    await openChat(store, "b");
    await store.openSession({ id: "inner", chat: chat.id, appName: "tool" });
    await store.createApproval(newApproval(chat, "one"));
    await store.createApproval(newApproval(chat, "two", { session: "inner" }));
    const { id } = await store.createApproval(newApproval(chat, "three"));
    await store.move(id, { event: "deny", by: "alice" });
    const listed = await store.listChats({ owner: "alice", appName: "app" });
    expect(Object.fromEntries(listed.map(({ name, pending }) => [name, pending]))).toEqual({ a: 2, b: 0 });
  });

  test("come in pages that miss nothing that stays, also when many changed at the same time", async () => {
    const store = await openStore();
    for (let number = 0; number < 10; number += 1) await openChat(store, `chat ${number}`);
    const seen: string[] = [];
    let after: { updatedAt: number; id: string } | undefined;
    for (;;) {
      const page = await store.listChats({ owner: "alice", appName: "app" }, { limit: 3, after });
      seen.push(...page.map(({ name }) => name ?? ""));
      after = page.at(-1);
      if (!after) break;
      // A chat that is seen changes, one that is seen goes, and a new one comes: the later pages stay.
      clock.at += 1;
      await store.append(page[0]?.id ?? "", turnOf(`hello ${seen.length}`));
      await store.deleteSession(page[1]?.id ?? "");
      await openChat(store, `new ${seen.length}`);
    }
    expect(seen.toSorted()).toEqual(Array.from({ length: 10 }, (_, number) => `chat ${number}`));
  });

  test("have titles, which can be set only over the one that is known", async () => {
    const store = await openStore();
    const chat = await openChat(store, "a");
    const title = async () => (await store.getSession(chat.id))?.title;
    expect(await store.setTitle(chat.id, "first", { title: undefined })).toBe(true);
    expect(await store.setTitle(chat.id, "second", { title: undefined })).toBe(false);
    expect(await store.setTitle(chat.id, "second", { title: "other" })).toBe(false);
    expect(await title()).toBe("first");
    expect(await store.setTitle(chat.id, "second", { title: "first" })).toBe(true);
    expect(await store.setTitle(chat.id, "花子")).toBe(true);
    expect(await title()).toBe("花子");
    await store.openSession({ id: "inner", chat: chat.id, appName: "tool" });
    expect(await store.setTitle("inner", "x")).toBe(false);
    expect(await store.setTitle("unknown", "x")).toBe(false);
  });

  test("have messages that are read from the first to the last", async () => {
    const store = await openStore();
    const chat = await openChat(store, "a");
    for (const words of ["a", "b", "c"]) await store.append(chat.id, turnOf(words));
    const ids: string[] = [];
    for (let after = 0; ;) {
      const page = await store.messagesAfter(chat.id, { after, limit: 2 });
      const last = page.at(-1);
      if (!last) break;
      ids.push(...page.map(({ message }) => message.id));
      after = last.sequence;
    }
    expect(ids).toEqual(["a", "b", "c"].flatMap((words) => [`message ${words}`, `reply to ${words}`]));
  });

  test("have approvals in pages, without large outputs", async () => {
    const store = await openStore();
    const [chat, other] = [await openChat(store, "a"), await openChat(store, "b")];
    for (const [index, call] of ["one", "two", "three", "four"].entries()) {
      const { id } = await store.createApproval(newApproval(index % 2 ? other : chat, call));
      if (call === "four") continue;
      await store.move(id, { event: "approve", by: "alice" });
      await store.move(id, { event: "claim", leaseOwner: "w", leaseMs: 1 });
      const outcome = { text: "花".repeat(call === "two" ? 100 : 1) };
      await store.move(id, { event: "succeed", outcome, fence: 1 });
    }
    await store.createApproval(newApproval(await openChat(store, "c", "bob"), "five"));
    const page = (filter: object, range: object = {}) =>
      store.approvalPage({ owner: "alice", ...filter }, { limit: 10, maxOutput: 50, ...range });
    const calls = async (...given: Parameters<typeof page>) =>
      (await page(...given)).map(({ approval }) => approval.toolCallId);
    expect(await calls({})).toEqual(["one", "two", "three", "four"]);
    expect(await calls({ chat: other.id })).toEqual(["two", "four"]);
    expect(await calls({ state: "pending" })).toEqual(["four"]);
    const first = await page({}, { limit: 2 });
    expect(first.map(({ approval, outputSize }) => [approval.outcome, outputSize])).toEqual([
      [{ text: "花" }, undefined],
      [undefined, 311],
    ]);
    await store.deleteSession(other.id);
    expect(await calls({}, { after: first.at(-1)?.position })).toEqual(["three"]);
  });

  test("leave only the hashes of their audit, which a copy can be compared with", async () => {
    const store = await openStore();
    const chat = await openChat(store, "a");
    const { id } = await store.createApproval(newApproval(chat, "call", { requestedBy: "mallory" }));
    await store.move(id, { event: "approve", by: "alice" });
    const copy = await store.audit(chat.id);
    expect(await store.auditHashes(chat.id)).toEqual([]);
    await store.deleteSession(chat.id);
    expect(await store.audit(chat.id)).toEqual([]);
    const kept = await store.auditHashes(chat.id);
    expect(kept).toEqual(copy.map(({ sequence, hash }) => ({ sequence, hash })));
    expect(verifyAudit(copy, kept)).toBeUndefined();
    expect(verifyAudit(copy.slice(0, 1), kept)).toBe(2);
    expect(verifyAudit([], kept)).toBe(1);
    expect(verifyAudit(copy, kept.slice(0, 1))).toBe(2);
    expect(verifyAudit(copy, [])).toBe(1);
    const forged = copy.map((entry) => ({ ...entry, by: "bob" }));
    expect(verifyAudit(forged, kept)).toBe(1);
  });

  test("call their watchers when they are deleted", async () => {
    const store = await openStore();
    const [chat, other] = [await openChat(store, "a"), await openChat(store, "b")];
    const told: string[] = [];
    for (const each of [chat, other])
      store.watch(each.id, ({ entries = [] }) => told.push(`${each.name}: ${entries.length} entries`));
    await store.deleteSession(chat.id);
    expect(told).toEqual(["a: 0 entries"]);
  });

  test("of many rows are deleted, and others go on meanwhile", async () => {
    const store = await openStore();
    const [chat, other] = [await openChat(store, "a"), await openChat(store, "b")];
    const entries = Array.from({ length: 300 }, (_, number) => turnOf(String(number))).flat();
    await store.append(chat.id, entries);
    for (let number = 0; number < 300; number += 1)
      await store.appendEvent(chat.id, { id: `e${number}`, event: { number }, responses: [`call ${number}`] });
    const deleting = store.deleteSession(chat.id);
    expect(await store.findChat("alice", "a", "app")).toBeUndefined();
    await expect(store.append(chat.id, turnOf("late"))).rejects.toMatchObject({ code: "not_found" });
    await expect(store.appendEvent(chat.id, { id: "late", event: {}, responses: [] })).rejects.toMatchObject({
      code: "not_found",
    });
    const again = await openChat(store, "a");
    await store.append(again.id, turnOf("new"));
    await store.append(other.id, turnOf("other"));
    await deleting;
    expect(await store.read(chat.id)).toEqual([]);
    expect(await store.messages(chat.id)).toEqual([]);
    expect(await store.events(chat.id)).toEqual([]);
    expect(await store.messages(again.id)).toHaveLength(2);
    expect(await names(store)).toHaveLength(2);
  });

  test("that have not changed for long are found, unless something runs or waits in them", async () => {
    const store = await openStore();
    for (const name of ["b", "a", "turn", "call"]) {
      const chat = await openChat(store, name);
      clock.at += 1;
      await store.append(chat.id, turnOf("hello"));
      if (name === "turn") await store.append(chat.id, turnOf("more").slice(0, 1));
      if (name === "call") await store.createApproval(newApproval(chat, "call"));
    }
    const found = async (before: number, limit = 10) =>
      (await store.unchangedChats({ before, limit })).map(({ name }) => name);
    expect(await found(clock.at + 1)).toEqual(["b", "a"]);
    expect(await found(clock.at + 1, 1)).toEqual(["b"]);
    expect(await found(start + 2)).toEqual(["b"]);
    await store.move((await store.listApprovals({}))[0]?.id ?? "", { event: "cancel" });
    expect(await found(clock.at + 1)).toEqual(["b", "a", "call"]);
  });

  test("keep the beginning and the end of trimmed turns, and their numbers", async () => {
    const store = await openStore();
    const chat = await openChat(store, "a");
    for (const words of ["one", "two", "three"]) {
      await store.append(chat.id, turnOf(words));
      clock.at += 10;
    }
    await store.append(chat.id, turnOf("open").slice(0, 3));
    expect(await store.trimChunks({ before: start, limit: 10 })).toBe(0);
    expect(await store.trimChunks({ before: clock.at + 1, limit: 2 })).toBe(2);
    expect(kinds(await store.read(chat.id)).slice(0, 7)).toEqual([
      ...["1 begin", "6 finish", "7 end", "8 begin", "13 finish", "14 end", "15 begin"],
    ]);
    expect(await store.trimChunks({ before: clock.at + 1, limit: 10 })).toBe(1);
    expect(await store.trimChunks({ before: clock.at + 1, limit: 10 })).toBe(0);
    expect(kinds(await store.read(chat.id, { after: 15 }))).toEqual([
      ...["20 finish", "21 end", "22 begin", "23 start", "24 text-start"],
    ]);
    expect(kinds(await store.read(chat.id, { after: 2, limit: 2 }))).toEqual(["6 finish", "7 end"]);
    expect(await store.lastSequence(chat.id)).toBe(24);
    expect(await store.messages(chat.id)).toHaveLength(7);
    expect(kinds(await store.append(chat.id, turnOf("open").slice(3, 4)))).toEqual(["25 text-delta"]);
    expect(await store.openTurns()).toMatchObject([{ chat: chat.id, sequence: 22 }]);
  });

  test("keep their chunks while an outcome waits to be shown", async () => {
    const store = await openStore();
    const chat = await openChat(store, "a");
    await store.append(chat.id, turnOf("one"));
    const { id } = await store.createApproval(newApproval(chat, "call"));
    await store.move(id, { event: "deny", by: "alice" });
    clock.at += 10;
    expect(await store.trimChunks({ before: clock.at, limit: 10 })).toBe(0);
    await store.markShown(id);
    expect(await store.trimChunks({ before: clock.at, limit: 10 })).toBe(1);
  });
});
