import { afterAll, beforeAll } from "vitest";
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
