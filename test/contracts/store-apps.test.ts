import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { memoryStore } from "../../src/stores/memory.ts";
import { postgresStore } from "../../src/stores/postgres.ts";
import { sqliteStore } from "../../src/stores/sqlite.ts";
import { type TestDatabase, testDatabase } from "../fixtures/postgres.ts";
import { storeAppsContract } from "./store-apps.ts";

const folder = mkdtempSync(join(tmpdir(), "store-apps-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

storeAppsContract("the memory store", ({ now }) => ({ store: memoryStore({ now }) }));
storeAppsContract("the SQLite store", ({ now }) => ({
  store: sqliteStore({ path: join(folder, `${(files += 1)}.db`), now }),
}));
storeAppsContract("the PostgreSQL store", async ({ now }) => {
  await database.empty();
  return { store: postgresStore({ url: database.url, now, connections: 4 }) };
});
