import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { migrations } from "./sqlite-migrations.ts";
import {
  approvalToParameters,
  insertApproval,
  rowToApproval,
  rowToAuditEntry,
  rowToSession,
  textToLogEntry,
  updateApproval,
} from "./sqlite-rows.ts";
import type { Approval } from "./store.ts";

const pending: Approval = {
  id: "id",
  appName: "app",
  chat: "chat",
  session: "chat",
  owner: "alice",
  toolCallId: "call",
  toolName: "pay",
  input: "{}",
  digest: "digest",
  messageId: "message",
  agent: "root",
  mode: "live",
  external: false,
  effect: "opaque",
  gated: true,
  state: "pending",
  startMs: 5,
  createdAt: 1,
  expiresAt: 9,
  idempotencyKey: "id",
  fence: 0,
  told: false,
};

const finished: Approval = {
  ...pending,
  branch: "root.payer",
  hint: "sure?",
  payload: null,
  innerSession: "inner",
  state: "succeeded",
  startBy: 7,
  decidedAt: 2,
  decidedBy: "alice",
  decisionKey: "key",
  reason: "fine",
  fence: 3,
  leaseOwner: "worker",
  leaseUntil: 8,
  outcome: { paid: [50, null] },
  stateDelta: {},
  finishedAt: 4,
  told: true,
};

/** A database with the tables and without the triggers, so that any row can be written. */
function openTables(): DatabaseSync {
  const db = new DatabaseSync(":memory:");
  for (const migration of migrations) db.exec(migration);
  db.exec(
    "INSERT INTO session (id, chat, owner, name, appName, state, createdAt, updatedAt, title) VALUES ('chat', 'chat', 'alice', 'first', 'app', '{\"a\":1}', 1, 2, NULL)",
  );
  return db;
}

describe("an approval as a row of SQLite", () => {
  test.each([
    ["without its optional fields", pending],
    ["with all of them", finished],
  ])("comes back as it was, %s", (_name, approval) => {
    const db = openTables();
    db.prepare(insertApproval).run(approvalToParameters(approval));
    expect(rowToApproval(db.prepare("SELECT * FROM approval").get())).toStrictEqual(approval);
    db.close();
  });

  test("an update writes what moves, and only to the version it was computed from", () => {
    const db = openTables();
    db.prepare(insertApproval).run(approvalToParameters(pending));
    const update = (oldState: string, oldFence: number) =>
      db.prepare(updateApproval).run({ ...approvalToParameters(finished, "moves"), id: "id", oldState, oldFence });
    expect(update("approved", 0).changes).toBe(0);
    expect(update("pending", 1).changes).toBe(0);
    expect(update("pending", 0).changes).toBe(1);
    const { branch: _branch, hint: _hint, payload: _payload, innerSession: _inner, ...moved } = finished;
    expect(rowToApproval(db.prepare("SELECT * FROM approval").get())).toStrictEqual(moved);
    db.close();
  });

  test("carries the time from which on it is due", () => {
    expect(approvalToParameters(pending)).toMatchObject({ dueAt: 9, gated: 1, external: 0, branch: null });
    expect(approvalToParameters(finished)).toMatchObject({ dueAt: null });
    expect(approvalToParameters({ ...finished, told: false })).toMatchObject({ dueAt: 0 });
  });

  test("a column that this release does not know is left out", () => {
    const row = { ...approvalToParameters(pending), created: 1, later: "x" } as Parameters<typeof rowToApproval>[0];
    expect(rowToApproval(row)).toStrictEqual(pending);
    expect(rowToApproval(undefined)).toBeUndefined();
  });
});

test("a session's row has its state as JSON, and no name inside a chat", () => {
  const row = { id: "a", chat: "a", owner: "alice", name: "first", appName: "app", state: '{"a":1}' };
  expect(rowToSession({ ...row, title: "Hello" })).toStrictEqual({ ...row, title: "Hello", state: { a: 1 } });
  expect(rowToSession({ ...row, name: null })).not.toHaveProperty("name");
  expect(rowToSession(undefined)).toBeUndefined();
});

test("an audit row has no chat, and no `by` where no one did it", () => {
  const entry = { sequence: 1, at: 2, approvalId: "id", event: "create", state: "pending", digest: "d", hash: "h" };
  expect(rowToAuditEntry({ ...entry, chat: "chat", by: null })).toStrictEqual(entry);
  expect(rowToAuditEntry({ ...entry, chat: "chat", by: "alice" })).toStrictEqual({ ...entry, by: "alice" });
});

test("a log entry has the number and time of its row, whatever its text says", () => {
  const text = '{"turn":"turn","kind":"end","sequence":99}';
  expect(textToLogEntry(text, 3, 4)).toEqual({ turn: "turn", kind: "end", sequence: 3, at: 4 });
});
