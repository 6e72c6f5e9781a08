/** Statements about several chats lock them in one order, whatever the order in which they were asked for. */
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Store } from "../../src/stores/index.ts";
import { postgresStore } from "../../src/stores/postgres.ts";
import { type TestDatabase, testDatabase } from "../fixtures/postgres.ts";

let database: TestDatabase;
/** Holds locks for the test. */
let other: pg.Client;
beforeAll(async () => {
  database = await testDatabase();
  other = new pg.Client({ connectionString: database.url });
  await other.connect();
});
afterAll(async () => {
  await other.end();
  await database.close();
});
afterEach(() => database.empty());

const names = ["b", "c", "a"];

async function waiting(): Promise<number> {
  const sql = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
  return Number((await database.run(sql))[0]?.["n"]);
}

async function deadlocks(): Promise<number> {
  const [row] = await database.run("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()");
  return Number(row?.["deadlocks"]);
}

describe("appending to two chats does not get into a deadlock with", () => {
  const others: [string, (store: Store) => Promise<unknown>][] = [
    ["renewing the leases of all", (store) => store.renewChats(60_000)],
    ["giving all back", (store) => store.releaseChats(names)],
  ];
  test.each(others)("%s", async (_what, work) => {
    const before = await deadlocks();
    const ids = [...names];
    const store = postgresStore({ url: database.url, newId: () => ids.shift() ?? "" });
    for (const name of names) {
      const { id } = await store.openChat({ owner: "alice", name, appName: "app" });
      await store.holdChat(id, 60_000);
    }
    await other.query("BEGIN; SELECT 1 FROM adk_stream_protocol.session WHERE id IN ('a', 'c') FOR UPDATE");
    const entry = { turn: "t", kind: "chunk", chunk: { type: "start" } } as const;
    const appended = Promise.allSettled(["a", "b"].map((chat) => store.append(chat, [entry])));
    await expect.poll(waiting).toBe(1);
    // In the order in which the chats were taken, this has b now, waits for c and wants a next. The append will have a.
    const worked = work(store);
    await expect.poll(waiting).toBe(2);
    await other.query("ROLLBACK");
    await Promise.all([worked, appended]);
    // A connection has reported what it counted when it is closed.
    await store.close();
    expect(await deadlocks()).toBe(before);
  });
});
