import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test } from "vitest";
import { sqliteStore } from "./sqlite.ts";
import { migrations } from "./sqlite-migrations.ts";

const folder = mkdtempSync(join(tmpdir(), "migrations-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A database as the first release left it: two sessions, and one settled approval per call. */
function writeVersion1(path: string, calls: readonly { session: string; toolCallId: string; gated?: 0 | 1 }[]): void {
  const db = new DatabaseSync(path);
  db.exec(migrations[0] ?? "");
  db.exec("PRAGMA user_version = 1");
  const addSession = db.prepare(
    "INSERT INTO session (id, chat, owner, name, appName, state, createdAt, updatedAt) VALUES (?, 'chat', 'alice', ?, 'app', '{}', 1, 1)",
  );
  addSession.run("chat", "first");
  for (const session of new Set(calls.map((call) => call.session)))
    if (session !== "chat") addSession.run(session, null);
  for (const { session, toolCallId, gated = 1 } of calls) {
    const fields = {
      ...{ id: toolCallId, chat: "chat", session, owner: "alice", toolCallId, toolName: "pay", input: "{}" },
      ...{ digest: "digest", messageId: "message", agent: "root", external: 0, effect: "opaque", gated },
      ...{ startMs: 1, createdAt: 1, expiresAt: 2, idempotencyKey: toolCallId, state: "denied", fence: 0, told: 1 },
    };
    const names = Object.keys(fields);
    db.prepare(`INSERT INTO approval (${names.join(", ")}) VALUES (${names.map((name) => `:${name}`).join(", ")})`).run(
      fields,
    );
  }
  db.close();
}

test("schema version 2 gives every row the mode that the ids of its call and session tell", async () => {
  const path = join(folder, "version-1.db");
  writeVersion1(path, [
    { session: "chat", toolCallId: "adk-1" },
    { session: "chat", toolCallId: "live-1" },
    { session: "chat", toolCallId: "alive-1" },
    { session: "chat~adk-1", toolCallId: "adk-2" },
    { session: "chat~live-1", toolCallId: "adk-3" },
    { session: "chat~live-1~adk-3", toolCallId: "adk-4" },
  ]);
  const store = sqliteStore({ path });
  const rows = await store.listApprovals({ chat: "chat" });
  await store.close();
  expect(rows.map(({ toolCallId, mode }) => [toolCallId, mode])).toEqual([
    ["adk-1", "request"],
    ["live-1", "live"],
    ["alive-1", "request"],
    ["adk-2", "request"],
    ["adk-3", "live"],
    ["adk-4", "live"],
  ]);
  expect(rows.every(({ state, told }) => state === "denied" && told)).toBe(true);
});

test("schema version 2 gives ungated rows the key that their tool was given", async () => {
  const path = join(folder, "version-1-keys.db");
  writeVersion1(path, [
    { session: "chat", toolCallId: "adk-1", gated: 0 },
    { session: "chat", toolCallId: "adk-2" },
  ]);
  const store = sqliteStore({ path });
  const found = await store.listApprovals({ owner: "alice", idempotencyKey: "chat:adk-1" });
  const others = await store.listApprovals({ idempotencyKey: "adk-2" });
  await store.close();
  expect(found.map(({ toolCallId }) => toolCallId)).toEqual(["adk-1"]);
  expect(others.map(({ toolCallId }) => toolCallId)).toEqual(["adk-2"]);
});

test("schema version 4 has the messages of every log", async () => {
  const path = join(folder, "version-3.db");
  writeVersion1(path, []);
  const db = new DatabaseSync(path);
  const add = db.prepare("INSERT INTO log (chat, sequence, at, entry) VALUES ('chat', ?, ?, ?)");
  const said = (id: string, text: string) => ({ id, role: "user", parts: [{ type: "text", text }] });
  const chunks = (turn: string, text: string) =>
    [
      { type: "start-step" },
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: text },
      { type: "text-end", id: "t" },
      { type: "finish-step" },
    ].map((chunk) => ({ turn, kind: "chunk", chunk }));
  const entries = [
    { turn: "1", kind: "begin", reply: "m1", message: said("u1", "hello") },
    ...chunks("1", "Hi."),
    { turn: "1", kind: "end" },
    { turn: "2", kind: "begin", reply: "m2", message: said("u2", "again") },
    ...chunks("2", "No."),
    { turn: "2", kind: "end" },
    { turn: "x", kind: "withdraw", from: 9 },
    { turn: "3", kind: "begin", reply: "m3" },
    { turn: "3", kind: "chunk", chunk: { type: "tool-output-denied", toolCallId: "unknown" } },
    ...chunks("3", "Yes."),
    { turn: "3", kind: "end" },
    { turn: "4", kind: "begin", reply: "m1" },
    ...chunks("4", "Still here."),
    { turn: "4", kind: "end" },
    { turn: "5", kind: "begin", reply: "m5", message: said("u5", "last") },
    ...chunks("5", "This turn has not en"),
  ];
  for (const [index, entry] of entries.entries()) add.run(index + 1, 100 + index, JSON.stringify(entry));
  db.close();
  const store = sqliteStore({ path });
  const messages = await store.messages("chat");
  expect(await store.getSession("chat")).toMatchObject({ title: "hello" });
  expect(await store.trimChunks({ before: Infinity, limit: 10 })).toBe(4);
  expect((await store.read("chat")).filter(({ turn }) => turn === "1").map(({ kind }) => kind)).toEqual([
    ...["begin", "end"],
  ]);
  expect((await store.read("chat")).filter(({ turn }) => turn === "5")).toHaveLength(6);
  await store.close();
  const words = messages.map(({ message: { id, parts } }) => [
    id,
    ...parts.flatMap((part) => ("text" in part ? part.text : [])),
  ]);
  expect(words).toEqual([
    ["u1", "hello"],
    ["m1", "Hi.", "Still here."],
    ["u2", "again"],
    ["m3", "Yes."],
    ["u5", "last"],
  ]);
  expect(messages.map(({ sequence }) => sequence)).toEqual([1, 2, 8, 17, 31]);
});

test("schema version 5 tells the apps apart, and leaves everything else as it was", async () => {
  const path = join(folder, "version-4.db");
  const calls = ["chat", "chat~call-1"].map((session) => ({ session, toolCallId: `call of ${session}` }));
  writeVersion1(path, calls);
  const db = new DatabaseSync(path);
  for (const migration of migrations.slice(1, 4)) db.exec(migration);
  const begin = { turn: "t", kind: "begin", reply: "m1" };
  const chunk = { turn: "t", kind: "chunk", chunk: { type: "text-start", id: "1" } };
  db.exec(`PRAGMA user_version = 4;
    UPDATE session SET appName = 'clerk' WHERE id <> 'chat';
    UPDATE session SET title = 'A title', revision = 7 WHERE id = 'chat';
    INSERT INTO session (id, chat, owner, name, appName, state, createdAt, updatedAt, deleted)
      VALUES ('gone', 'gone', '', 'gone', 'app', '{}', 1, 1, 1);
    INSERT INTO log VALUES ('gone', 1, 1, '${JSON.stringify(begin)}');
    INSERT INTO log VALUES ('chat', 1, 1, '${JSON.stringify(begin)}');
    INSERT INTO log VALUES ('chat', 2, 1, '${JSON.stringify(chunk)}');
    INSERT INTO log VALUES ('chat', 3, 1, '{"turn":"t","kind":"end"}');
    INSERT INTO endedTurn VALUES ('chat', 't', 1, 3, 1);
    INSERT INTO openTurn VALUES (1, 'chat', 'next', 4);
    INSERT INTO event (session, position, id, event) VALUES ('chat', 1, 'e', '{"id":"e"}');
    INSERT INTO message VALUES ('chat', 'm1', 2, 'assistant', 1, '{"id":"m1","role":"assistant","parts":[]}');
    INSERT INTO file VALUES ('chat', 'f1', 'text/plain', NULL, 1, 1, x'01')`);
  db.close();
  const store = sqliteStore({ path });
  expect(await store.findChat("alice", "first", "app")).toEqual({
    ...{ id: "chat", chat: "chat", owner: "alice", name: "first", title: "A title", appName: "app", state: {} },
    ...{ revision: 7, createdAt: 1, updatedAt: 1 },
  });
  const rows = await store.listApprovals({ appName: "app" });
  expect(rows.map(({ toolCallId }) => toolCallId)).toEqual(["call of chat", "call of chat~call-1"]);
  expect(await store.openTurns({ appName: "app" })).toHaveLength(1);
  expect(await store.events("chat")).toHaveLength(1);
  expect(await store.messages("chat")).toHaveLength(1);
  expect(await store.findFile("alice", "f1", "app")).toMatchObject({ chat: "chat" });
  expect(await store.trimChunks({ appName: "app", before: 9, limit: 9 })).toBe(1);
  expect(await store.read("chat")).toHaveLength(2);
  expect(await store.read("gone"), "an interrupted deletion is completed").toEqual([]);
  expect((await store.openChat({ owner: "alice", name: "first", appName: "other" })).id).not.toBe("chat");
  await store.deleteSession("chat");
  await store.close();
  const after = new DatabaseSync(path);
  expect(after.prepare("PRAGMA foreign_key_check").all()).toEqual([]);
  for (const table of ["approval", "log", "event", "message", "file", "openTurn", "endedTurn"])
    expect(after.prepare(`SELECT * FROM ${table}`).all(), table).toEqual([]);
  after.close();
});

test("a session's rows are still deleted with it after the tables were written anew", async () => {
  const path = join(folder, "version-1-cascade.db");
  writeVersion1(path, [{ session: "chat~call-1", toolCallId: "call" }]);
  const store = sqliteStore({ path });
  await store.appendEvent("chat~call-1", { id: "e", event: {}, responses: ["call"] });
  await store.deleteSession("chat~call-1");
  expect(await store.listApprovals({})).toEqual([]);
  expect(await store.events("chat~call-1")).toEqual([]);
  await store.close();
});
