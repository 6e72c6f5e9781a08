/** What the PostgreSQL database itself refuses, and how its tables are created and changed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { approvalEvents, approvalStates, type ApprovalState, transition } from "../../src/protocol/index.ts";
import type { Change } from "../../src/stores/index.ts";
import { postgresStore } from "../../src/stores/postgres.ts";
import { type TestDatabase, testDatabase } from "../fixtures/postgres.ts";
import { holdingChats, newApproval } from "./store.ts";

const schema = "adk_stream_protocol";
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

let database: TestDatabase;
/** A database with one row in every state, named after it. */
beforeAll(async () => {
  database = await testDatabase();
  const store = holdingChats(postgresStore({ url: database.url }));
  const chat = await store.openChat({ owner: "alice", name: "first", appName: "app" });
  for (const state of approvalStates) {
    const ttlMs = state === "expired" ? 0 : 60_000;
    await store.createApproval(newApproval(chat, state, { id: state, ttlMs, reportMs: 60_000 }));
    for (const change of waysTo[state]) await store.move(state, change);
    const made = await store.getApproval(state);
    if (made?.state !== state) throw new Error(`The row should be ${state}, and is ${made?.state}.`);
  }
  await store.close();
});
afterAll(() => database.close());

/** A process that opens the store and a chat in it when it is told to. */
async function nodeProcess(url: string, name: string) {
  const store = new URL("../../src/stores/postgres.ts", import.meta.url).href;
  const script = `
    import { once } from "node:events";
    import { postgresStore } from ${JSON.stringify(store)};
    console.log("ready");
    await once(process.stdin, "data");
    const store = postgresStore({ url: ${JSON.stringify(`${url}?application_name=${name}`)}, timeoutMs: 30_000 });
    await store.openChat({ owner: "alice", name: ${JSON.stringify(name)}, appName: "app" });
    await store.close();
    process.exit(0);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    env: { PATH: process.env["PATH"] },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(child, "exit").then(([code]) => code as number | null);
  await once(child.stdout, "data");
  return { name, child, ended, go: () => void child.stdin.write("go\n") };
}

/** Runs SQL and rolls it back; returns the error message, or undefined if there was none. */
async function attempt(sql: string): Promise<string | undefined> {
  await database.run(`BEGIN; SET LOCAL search_path = ${schema}`);
  try {
    await database.run(sql);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    await database.run("ROLLBACK");
  }
}

describe("the PostgreSQL database enforces the rules against every other writer", () => {
  test("I1, A39: a state moves along the transitions only", async () => {
    const rows = await database.run(`SELECT id, state FROM ${schema}.approval`);
    expect(rows.map(({ id }) => id)).toEqual(rows.map(({ state }) => state));
    for (const from of approvalStates) {
      for (const to of approvalStates) {
        const legal = approvalEvents.some((event) => {
          const cell = transition(from, event);
          return "to" in cell && cell.to === to;
        });
        const fence = to === "executing" ? "fence + 1" : "fence";
        const said = await attempt(`UPDATE approval SET state = '${to}', fence = ${fence} WHERE id = '${from}'`);
        if (legal) expect(said, `${from} to ${to}`).toBeUndefined();
        else if (from !== to) expect(said, `${from} to ${to}`).toMatch(/^refused: /);
      }
    }
    expect(await attempt("UPDATE approval SET state = 'nonsense' WHERE id = 'pending'")).toMatch(/no such transition/);
  });

  test("I15, A6, I2: neither what was asked nor a decision ever changes", async () => {
    const texts = [
      "id",
      "chat",
      "session",
      "owner",
      "tool_call_id",
      "tool_name",
      "input",
      "digest",
      "message_id",
      "agent",
    ];
    const more = ["branch", "hint", "payload", "effect", "inner_session", "idempotency_key", "raw_input", "tool_hash"];
    for (const column of [...texts, ...more])
      expect(await attempt(`UPDATE approval SET ${column} = 'changed' WHERE id = 'pending'`), column).toMatch(
        /never changes/,
      );
    for (const column of ["start_ms", "created_at", "expires_at"])
      expect(await attempt(`UPDATE approval SET ${column} = ${column} + 5 WHERE id = 'pending'`)).toMatch(
        /never changes/,
      );
    for (const state of approvalStates.filter((each) => each !== "pending"))
      expect(await attempt(`UPDATE approval SET decided_by = 'x' WHERE id = '${state}'`), state).toMatch(
        /never changes/,
      );
  });

  test("I1, I14: a settled row stays, and only a claim raises the fence", async () => {
    const set = (sql: string) => attempt(`UPDATE approval SET ${sql}`);
    for (const state of ["succeeded", "failed", "denied", "expired", "cancelled"]) {
      expect(await set(`outcome = '{}x' WHERE id = '${state}'`)).toMatch(/settled/);
      expect(await set(`told = true, due_at = NULL WHERE id = '${state}'`)).toBeUndefined();
    }
    expect(
      await attempt(
        "UPDATE approval SET told = true WHERE id = 'denied'; UPDATE approval SET told = false WHERE id = 'denied'",
      ),
    ).toMatch(/told stays told/);
    for (const sql of [
      "state = 'executing' WHERE id = 'approved'",
      "fence = fence - 1 WHERE id = 'executing'",
      "fence = fence + 2 WHERE id = 'executing'",
      "fence = fence + 1 WHERE id = 'approved'",
      "state = 'succeeded', fence = fence + 1 WHERE id = 'executing'",
    ])
      expect(await set(sql), sql).toMatch(/raises the fence by one/);
    expect(await set("fence = fence + 1 WHERE id = 'executing'")).toBeUndefined();
  });

  test("rows and audits are only added, and go with their chat", async () => {
    expect(await attempt("DELETE FROM approval WHERE id = 'pending'")).toMatch(/stays as long as its session/);
    expect(await attempt("UPDATE audit SET state = 'denied' WHERE sequence = 1")).toMatch(/never changes/);
    expect(await attempt("DELETE FROM audit WHERE sequence = 1")).toMatch(/stays as long as its chat/);
    expect(await attempt("INSERT INTO audit SELECT * FROM audit")).toMatch(/duplicate key/);
    expect(await attempt("INSERT INTO audit_hash VALUES ('c', 1, 'h'); DELETE FROM audit_hash")).toMatch(/stays/);
    const gone = "DELETE FROM session; SELECT 1 / (SELECT count(*) FROM approval)";
    expect(await attempt(gone)).toMatch(/division by zero/);
  });
});

describe("the tables", () => {
  const tables = async (bare: TestDatabase) =>
    (await bare.run("SELECT tablename AS name FROM pg_tables WHERE schemaname = $1", [schema])).length;

  test("are created by the first use, and left as they are by the next", async () => {
    const bare = await testDatabase({ bare: true });
    const store = postgresStore({ url: bare.url });
    expect(await tables(bare)).toBe(0);
    expect(await store.findChat("alice", "a", "app")).toBeUndefined();
    await store.close();
    const before = await bare.run(`SELECT * FROM ${schema}.migration`);
    expect(before).toMatchObject([{ step: 1, kind: "expand", since: 0 }]);
    const again = postgresStore({ url: bare.url });
    await again.findChat("alice", "a", "app");
    await again.close();
    expect(await bare.run(`SELECT * FROM ${schema}.migration`)).toEqual(before);
    await bare.close();
  });

  test("are created once if nodes start at the same moment and one of them dies in the middle", async () => {
    const bare = await testDatabase({ bare: true });
    await bare.run(`CREATE SCHEMA ${schema}`);
    // The node that is first finds this table, and waits: its transaction has made half of the tables by then.
    await bare.run(`BEGIN; CREATE TABLE ${schema}.posted ()`);
    const nodes = await Promise.all([1, 2, 3, 4].map((number) => nodeProcess(bare.url, `node${number}`)));
    for (const node of nodes) node.go();
    const other = new pg.Client({ connectionString: bare.url });
    await other.connect();
    const waiting = async () => {
      const { rows } = await other.query<{ name: string; lock: string }>(
        `SELECT application_name AS name, wait_event AS lock FROM pg_stat_activity
         WHERE wait_event_type = 'Lock' AND application_name LIKE 'node%' ORDER BY 1`,
      );
      return rows;
    };
    await expect.poll(waiting).toHaveLength(4);
    const first = (await waiting()).filter(({ lock }) => lock !== "advisory").map(({ name }) => name);
    expect(first).toHaveLength(1);
    const [dead, ...alive] = nodes.toSorted((one) => (one.name === first[0] ? -1 : 1));
    dead?.child.kill("SIGKILL");
    await dead?.ended;
    await bare.run("ROLLBACK");
    expect(await Promise.all(alive.map(({ ended }) => ended))).toEqual([0, 0, 0]);
    expect(await bare.run(`SELECT step FROM ${schema}.migration`)).toEqual([{ step: 1 }]);
    const names = await bare.run(`SELECT name FROM ${schema}.session ORDER BY name`);
    expect(names.map(({ name }) => name)).toEqual(alive.map(({ name }) => name).toSorted());
    await other.end();
    await bare.close();
  });

  test("of a later release are used if it only added to them, and refused if it removed what this one needs", async () => {
    const newer = await testDatabase();
    const step = `INSERT INTO ${schema}.migration (step, kind, since, at) VALUES`;
    await newer.run(`${step} (2, 'expand', 0, now()), (3, 'contract', 1, now())`);
    const store = postgresStore({ url: newer.url });
    await store.openChat({ owner: "alice", name: "a", appName: "app" });
    await store.close();
    await newer.run(`${step} (4, 'contract', 2, now())`);
    const refused = postgresStore({ url: newer.url });
    await expect(refused.findChat("alice", "a", "app")).rejects.toThrow(/need a release that knows 2 migrations/);
    await refused.close();
    await newer.close();
  });

  test("get the rules of a newer release of the same tables", async () => {
    const old = await testDatabase();
    await old.run(`UPDATE ${schema}.migration SET rules = 'old'`);
    await old.run(
      `CREATE OR REPLACE FUNCTION ${schema}.audit_rules() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN OLD; END $$`,
    );
    const store = postgresStore({ url: old.url });
    await store.findChat("alice", "a", "app");
    await store.close();
    const [row] = await old.run(`SELECT prosrc FROM pg_proc WHERE oid = '${schema}.audit_rules'::regproc`);
    expect(String(row?.["prosrc"])).toContain("an audit entry never changes");
    await old.close();
  });

  test("keep nothing of a deleted chat but the hashes of its audit", async () => {
    const store = holdingChats(postgresStore({ url: database.url }));
    const chat = await store.openChat({ owner: "zoe", name: "secret name", appName: "app" });
    const message = { id: "m", role: "user" as const, parts: [{ type: "text" as const, text: "secret words" }] };
    await store.append(chat.id, [{ turn: "t", kind: "begin", reply: "r", message }]);
    await store.append(chat.id, [{ turn: "t", kind: "end" }]);
    await store.appendEvent(chat.id, { id: "e", event: { text: "secret words" }, responses: ["c"] });
    await store.saveFile({ id: "f", chat: chat.id, mediaType: "text/plain", data: Buffer.from("secret words") });
    await store.createApproval(newApproval(chat, "secret call"));
    await store.post({ id: "p", chat: chat.id, body: { text: "secret words" } });
    await store.deleteSession(chat.id);
    for (const { name } of await database.run("SELECT tablename AS name FROM pg_tables WHERE schemaname = $1", [
      schema,
    ])) {
      const left = await database.run(
        `SELECT * FROM ${schema}.${String(name)} AS t WHERE t::text LIKE '%' || $1 || '%'`,
        [chat.id],
      );
      expect(left.length, String(name)).toBe(name === "audit_hash" ? 1 : 0);
    }
    await store.close();
  });
});
