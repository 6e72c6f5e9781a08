import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createInterface } from "node:readline";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { approvalEvents, type ApprovalState, approvalStates, transition } from "../../src/protocol/index.ts";
import type { Change, Store } from "../../src/stores/index.ts";
import { countByState } from "../../src/stores/sqlite-approvals.ts";
import { sqliteStore } from "../../src/stores/sqlite.ts";
import { durableStoreContract, newApproval, storeContract } from "./store.ts";

const folder = mkdtempSync(join(tmpdir(), "store-"));
let files = 0;
const newPath = () => join(folder, `${(files += 1)}`, "deep", "store.db");
afterAll(() => rmSync(folder, { recursive: true }));

const open = ({ now }: { now: () => number }) => {
  const path = newPath();
  const store = sqliteStore({ path, now });
  const reopen = async () => {
    await store.close();
    return sqliteStore({ path, now });
  };
  return { store, reopen };
};
storeContract("the SQLite store", open);
durableStoreContract("the SQLite store", open);

const approve: Change = { event: "approve", by: "alice" };
const claim: Change = { event: "claim", leaseOwner: "worker", leaseMs: 0 };
const waysTo: Record<ApprovalState, Change[]> = {
  pending: [],
  approved: [approve],
  executing: [approve, claim],
  waiting: [approve, claim, { event: "begin", fence: 1 }],
  succeeded: [approve, claim, { event: "succeed", outcome: {}, fence: 1 }],
  failed: [approve, claim, { event: "fail", outcome: {}, fence: 1 }],
  denied: [{ event: "deny", by: "alice" }],
  expired: [{ event: "expire" }],
  cancelled: [{ event: "cancel" }],
  indeterminate: [approve, claim, { event: "lose" }],
};

/** A database with one row in every state, named after it, and a second connection to the file. */
async function withEveryState(work: (raw: DatabaseSync, store: Store) => void | Promise<void>): Promise<void> {
  const path = newPath();
  const store = sqliteStore({ path });
  const chat = await store.openChat({ owner: "alice", name: "first", appName: "app" });
  for (const state of approvalStates) {
    const ttlMs = state === "expired" ? 0 : 60_000;
    await store.createApproval(newApproval(chat, state, { id: state, ttlMs, reportMs: 60_000 }));
    for (const change of waysTo[state]) expect((await store.move(state, change)).approval?.state).toBeDefined();
    expect((await store.getApproval(state))?.state).toBe(state);
  }
  const raw = new DatabaseSync(path);
  await work(raw, store);
  raw.close();
  await store.close();
}

/** Runs raw SQL and rolls it back; returns the error message, or undefined if there was none. */
function attempt(raw: DatabaseSync, sql: string): string | undefined {
  raw.exec("BEGIN");
  try {
    raw.exec(sql);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    raw.exec("ROLLBACK");
  }
}

test("needs a file: a name that SQLite itself keeps in memory is refused", () => {
  for (const path of [":memory:", "", "file::memory:?cache=shared"]) {
    expect(() => sqliteStore({ path })).toThrow(/needs the path of a file/);
    expect(existsSync(path)).toBe(false);
  }
});

describe("the SQLite database enforces the rules against every other writer", () => {
  test("I1, A39: a state moves along the transitions only", async () => {
    await withEveryState((raw) => {
      for (const from of approvalStates) {
        for (const to of approvalStates) {
          const legal = approvalEvents.some((event) => {
            const cell = transition(from, event);
            return "to" in cell && cell.to === to;
          });
          const fence = to === "executing" ? "fence + 1" : "fence";
          const said = attempt(raw, `UPDATE approval SET state = '${to}', fence = ${fence} WHERE id = '${from}'`);
          if (legal) expect(said, `${from} to ${to}`).toBeUndefined();
          else if (from !== to) expect(said, `${from} to ${to}`).toMatch(/^refused: /);
        }
      }
      expect(attempt(raw, "UPDATE approval SET state = 'nonsense' WHERE id = 'pending'")).toMatch(/no such transition/);
    });
  });

  test("I15, A6: who asked for what, and until when, never changes", async () => {
    await withEveryState((raw) => {
      const texts = [
        "id",
        "chat",
        "session",
        "owner",
        "toolCallId",
        "toolName",
        "input",
        "digest",
        "messageId",
        "agent",
      ];
      const more = ["branch", "mode", "hint", "payload", "effect", "innerSession", "idempotencyKey"];
      const numbers = ["external", "gated", "startMs", "createdAt", "expiresAt", "created"];
      for (const column of [...texts, ...more]) {
        const sql = `UPDATE approval SET ${column} = 'changed' WHERE id = 'pending'`;
        expect(attempt(raw, sql), column).toMatch(/never changes/);
      }
      for (const column of numbers) {
        const sql = `UPDATE approval SET ${column} = ${column} + 5 WHERE id = 'pending'`;
        expect(attempt(raw, sql), column).toMatch(/never changes/);
      }
    });
  });

  test("I2: a decision never changes, whatever became of the row", async () => {
    await withEveryState((raw) => {
      for (const column of ["decidedBy", "decisionKey", "decidedAt"]) {
        for (const state of approvalStates.filter((each) => each !== "pending")) {
          const sql = `UPDATE approval SET ${column} = 7 WHERE id = '${state}'`;
          expect(attempt(raw, sql), `${column} of ${state}`).toMatch(/never changes/);
        }
      }
    });
  });

  test("I1: a settled row never changes but for being told, once", async () => {
    await withEveryState((raw) => {
      for (const state of ["succeeded", "failed", "denied", "expired", "cancelled"]) {
        const set = (sql: string) => attempt(raw, `UPDATE approval SET ${sql} WHERE id = '${state}'`);
        for (const column of ["outcome", "stateDelta", "reason"]) expect(set(`${column} = '{}x'`)).toMatch(/settled/);
        for (const column of ["finishedAt", "leaseUntil"]) expect(set(`${column} = 1`)).toMatch(/settled/);
        expect(set("told = 1, dueAt = NULL")).toBeUndefined();
      }
      raw.exec("UPDATE approval SET told = 1 WHERE id = 'denied'");
      expect(attempt(raw, "UPDATE approval SET told = 0 WHERE id = 'denied'")).toMatch(/told stays told/);
    });
  });

  test("I14: the fence rises by one with a claim and at no other time", async () => {
    await withEveryState((raw) => {
      for (const sql of [
        "state = 'executing' WHERE id = 'approved'",
        "state = 'executing', fence = fence + 2 WHERE id = 'approved'",
        "fence = fence - 1 WHERE id = 'executing'",
        "fence = fence + 2 WHERE id = 'executing'",
        "fence = fence + 1 WHERE id = 'approved'",
        "state = 'succeeded', fence = fence + 1 WHERE id = 'executing'",
      ]) {
        expect(attempt(raw, `UPDATE approval SET ${sql}`), sql).toMatch(/raises the fence by one/);
      }
      expect(attempt(raw, "UPDATE approval SET fence = fence + 1 WHERE id = 'executing'")).toBeUndefined();
    });
  });

  test("a row starts once, in a first state, and stays", async () => {
    await withEveryState((raw) => {
      const columns = (raw.prepare("PRAGMA table_info(approval)").all() as { name: string }[])
        .map(({ name }) => name)
        .filter((name) => name !== "created");
      const copyOf = (from: string, changes: Record<string, string>, verb = "INSERT") =>
        attempt(
          raw,
          `${verb} INTO approval (${columns.join(", ")})
           SELECT ${columns.map((name) => changes[name] ?? name).join(", ")} FROM approval WHERE id = '${from}'`,
        );
      const fresh = { id: "'new'", idempotencyKey: "'new'", toolCallId: "'new'" };
      expect(copyOf("pending", fresh)).toBeUndefined();
      expect(copyOf("succeeded", { ...fresh, fence: "0" })).toMatch(/starts once/);
      expect(copyOf("pending", { ...fresh, fence: "1" })).toMatch(/starts once/);
      expect(copyOf("pending", { ...fresh, toolCallId: "'denied'" })).toMatch(/starts once/);
      expect(copyOf("pending", {}, "INSERT OR REPLACE")).toMatch(/starts once/);
      expect(attempt(raw, "DELETE FROM approval WHERE id = 'pending'")).toMatch(/stays as long as its session/);
    });
  });

  test("one approval per call is a constraint of the table too", async () => {
    await withEveryState((raw) => {
      raw.exec("DROP TRIGGER approval_starts_once");
      const columns = (raw.prepare("PRAGMA table_info(approval)").all() as { name: string }[]).map(({ name }) => name);
      const values = columns.map((name) => ({ created: "NULL", id: "'new'", idempotencyKey: "'new'" })[name] ?? name);
      const sql = `INSERT INTO approval SELECT ${values.join(", ")} FROM approval WHERE id = 'pending'`;
      expect(attempt(raw, sql)).toMatch(/UNIQUE constraint failed: approval.session, approval.toolCallId/);
    });
  });

  test("a call's mode is one of two", async () => {
    await withEveryState((raw) => {
      raw.exec("DROP TRIGGER approval_is_fixed");
      const set = (mode: string) => attempt(raw, `UPDATE approval SET mode = ${mode} WHERE id = 'pending'`);
      expect(set("'live'")).toBeUndefined();
      expect(set("'request'")).toBeUndefined();
      expect(set("'other'")).toMatch(/CHECK constraint failed/);
      expect(set("NULL")).toMatch(/NOT NULL constraint failed/);
    });
  });

  test("I10: one response per call is a constraint", async () => {
    await withEveryState(async (raw, store) => {
      const chat = await store.findChat("alice", "first", "app");
      await store.appendEvent(chat?.id ?? "", { id: "e", event: {}, responses: ["call"] });
      const sql = "INSERT INTO response SELECT session, callId, position + 1 FROM response";
      expect(attempt(raw, sql)).toMatch(/UNIQUE constraint failed/);
    });
  });

  test("A35: the audit is only added to, and goes with its chat", async () => {
    await withEveryState((raw) => {
      expect(attempt(raw, "UPDATE audit SET state = 'denied' WHERE sequence = 1")).toMatch(/never changes/);
      expect(attempt(raw, "DELETE FROM audit WHERE sequence = 1")).toMatch(/stays as long as its chat/);
      expect(attempt(raw, "INSERT OR REPLACE INTO audit SELECT * FROM audit")).toMatch(/never changes/);
      expect(attempt(raw, "DELETE FROM session")).toBeUndefined();
    });
  });
});

describe("the SQLite file", () => {
  const children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
  });

  /** Starts a process that opens the store and prints the result. */
  async function openInChild(path: string) {
    const store = new URL("../../src/stores/sqlite.ts", import.meta.url).href;
    const script = `
      const { sqliteStore } = await import(${JSON.stringify(store)});
      try {
        const store = sqliteStore({ path: ${JSON.stringify(path)} });
        const chat = await store.openChat({ owner: "alice", name: "first", appName: "app" });
        const fields = { chat: chat.id, session: chat.id, owner: "alice", toolCallId: "call", toolName: "pay" };
        const call = { input: "{}", digest: "d", messageId: "m", agent: "a", mode: "live", external: false, gated: true };
        const rest = { effect: "opaque", state: "pending", ttlMs: 1e9, startMs: 1e9 };
        await store.createApproval({ id: "id", ...fields, ...call, ...rest });
        await store.move("id", { event: "approve", by: "alice" });
        await store.move("id", { event: "claim", leaseOwner: "child", leaseMs: 1e9 });
        await store.append(chat.id, [{ turn: "turn", kind: "chunk", chunk: { type: "start" } }]);
        console.log("open");
        setInterval(() => {}, 1e6);
      } catch (error) {
        console.log(error.message);
      }`;
    const flags = ["--disable-warning=ExperimentalWarning", "--experimental-strip-types", "--input-type=module"];
    const child = spawn(process.execPath, [...flags, "--eval", script], { stdio: ["ignore", "pipe", "inherit"] });
    children.push(child);
    const exited = once(child, "exit");
    const lines = createInterface({ input: child.stdout });
    const [said] = (await Promise.race([once(lines, "line"), exited.then(() => ["nothing"])])) as [string];
    return {
      said,
      kill: async () => {
        child.kill("SIGKILL");
        await exited;
      },
    };
  }

  test("a second process is refused at once, and kill -9 of the first lets it in with nothing lost", async () => {
    const path = newPath();
    const child = await openInChild(path);
    expect(child.said).toBe("open");
    expect(() => sqliteStore({ path })).toThrow(/store\.db is in use by another process/);

    await child.kill();
    const store = sqliteStore({ path });
    const chat = await store.findChat("alice", "first", "app");
    expect(await store.read(chat?.id ?? "")).toMatchObject([{ sequence: 1, chunk: { type: "start" } }]);
    expect(await store.getApproval("id")).toMatchObject({ state: "executing", fence: 1, leaseOwner: "child" });
    expect((await store.dueApprovals()).map(({ id }) => id)).toEqual(["id"]);
    await store.close();
  });

  test("a second opening in the same process is refused too, and does not loosen the lock", async () => {
    const path = newPath();
    const store = sqliteStore({ path });
    expect(() => sqliteStore({ path })).toThrow(/in use/);
    const child = await openInChild(path);
    await child.kill();
    expect(child.said).toMatch(/in use by another process/);
    await store.close();
    await sqliteStore({ path }).close();
  });

  test.skipIf(process.platform === "win32")("another name for the same file is the same lock", async () => {
    const path = newPath();
    const store = sqliteStore({ path });
    const link = join(folder, "link.db");
    symlinkSync(path, link);
    expect(() => sqliteStore({ path: link })).toThrow(/in use/);
    await store.close();
  });

  test.skipIf(process.platform === "win32")("is readable by its owner only", async () => {
    const path = newPath();
    const store = sqliteStore({ path });
    await store.openChat({ owner: "alice", name: "first", appName: "app" });
    for (const suffix of ["", "-wal", "-shm", ".lock"]) {
      expect(statSync(`${path}${suffix}`).mode & 0o777, suffix).toBe(0o600);
    }
    await store.close();
  });

  test("can be read by others while the store is open", async () => {
    await withEveryState((raw) => {
      expect(raw.prepare("SELECT count(*) AS n FROM approval").get()?.["n"]).toBe(approvalStates.length);
      expect(raw.prepare("PRAGMA journal_mode").get()?.["journal_mode"]).toBe("wal");
    });
  });

  test("A39: a newer schema is refused with a sentence, and left as it is", async () => {
    const path = newPath();
    await sqliteStore({ path }).close();
    const raw = new DatabaseSync(path);
    raw.exec("PRAGMA user_version = 99; DROP TRIGGER approval_moves");
    raw.close();
    expect(() => sqliteStore({ path })).toThrow(/store\.db has schema version 99; this release knows versions up to 5/);
    expect(() => sqliteStore({ path })).toThrow(/schema version 99/);
    const after = new DatabaseSync(path);
    expect(after.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'approval_moves'").get()?.["n"]).toBe(0);
    after.exec("PRAGMA user_version = 5");
    after.close();
    await sqliteStore({ path }).close();
  });

  test("triggers that are missing or old are made anew at the next opening", async () => {
    const path = newPath();
    await sqliteStore({ path }).close();
    const raw = new DatabaseSync(path);
    raw.exec("DROP TRIGGER audit_stays; CREATE TRIGGER old AFTER INSERT ON log BEGIN SELECT RAISE(ABORT, 'old'); END");
    raw.close();
    await sqliteStore({ path }).close();
    const after = new DatabaseSync(path);
    const names = after.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all();
    after.close();
    expect(names.map(({ name }) => name)).toContain("audit_stays");
    expect(names.map(({ name }) => name)).not.toContain("old");
  });

  test("a file that is no database is refused, left alone and not kept locked", async () => {
    const path = newPath();
    await sqliteStore({ path }).close();
    writeFileSync(path, "these are my notes, please keep them".repeat(100));
    expect(() => sqliteStore({ path })).toThrow(/not a database/);
    expect(readFileSync(path, "utf8")).toMatch(/^these are my notes/);
    rmSync(path);
    await sqliteStore({ path }).close();
    expect(existsSync(path)).toBe(true);
  });

  test("refuses everything after it was closed", async () => {
    const store = sqliteStore({ path: newPath() });
    await store.close();
    await expect(store.openChat({ owner: "alice", name: "first", appName: "app" })).rejects.toThrow(/not open/);
  });
});

test("counting the open calls reads one index in its order, also in a database of an earlier release", async () => {
  const path = newPath();
  await sqliteStore({ path }).close();
  const db = new DatabaseSync(path);
  db.exec(`DROP INDEX approval_open_by_state;
    CREATE INDEX approval_open ON approval (owner, state) WHERE state IN ('pending', 'approved', 'executing', 'waiting')`);
  db.close();
  await sqliteStore({ path }).close();
  const opened = new DatabaseSync(path);
  const indexes = opened.prepare("SELECT name FROM sqlite_schema WHERE name LIKE 'approval_open%'").all();
  expect(indexes.map(({ name }) => name)).toEqual(["approval_open_by_state"]);
  const plan = opened
    .prepare(`EXPLAIN QUERY PLAN ${countByState}`)
    .all()
    .map(({ detail }) => String(detail));
  opened.close();
  expect(plan).toEqual([expect.stringMatching(/USING COVERING INDEX approval_open_by_state \(state=\?\)$/)]);
});
