import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { dueQuery } from "../../src/stores/postgres-approvals.ts";
import { postgresStore } from "../../src/stores/postgres.ts";
import { type TestDatabase, testDatabase } from "../fixtures/postgres.ts";
import { durableStoreContract, storeContract } from "./store.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

const open = async ({ now }: { now: () => number }) => {
  await database.empty();
  const store = postgresStore({ url: database.url, now, connections: 4 });
  const reopen = async () => {
    await store.close();
    return postgresStore({ url: database.url, now });
  };
  return { store, reopen };
};
storeContract("the PostgreSQL store", open);
durableStoreContract("the PostgreSQL store", open);

test.each([true, false])("what is due is looked up in its index, unsettled: %s", async (unsettled) => {
  await open({ now: () => 0 }).then(async ({ store }) => {
    await store.check();
    await store.close();
  });
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query("SET search_path = adk_stream_protocol; SET enable_seqscan = off");
  const values = ["node", null, 200, null];
  const { rows } = await client.query<Record<string, string>>(
    `EXPLAIN (COSTS OFF) ${dueQuery({ unsettled, isLater: false })}`,
    values,
  );
  await client.end();
  const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
  expect(plan).toContain("approval_due");
  expect(plan).toMatch(/Index Cond: .*due_at <=/);
});
