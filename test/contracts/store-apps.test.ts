import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { memoryStore } from "../../src/stores/memory.ts";
import { sqliteStore } from "../../src/stores/sqlite.ts";
import { storeAppsContract } from "./store-apps.ts";

const folder = mkdtempSync(join(tmpdir(), "store-apps-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

storeAppsContract("the memory store", ({ now }) => ({ store: memoryStore({ now }) }));
storeAppsContract("the SQLite store", ({ now }) => ({
  store: sqliteStore({ path: join(folder, `${(files += 1)}.db`), now }),
}));
