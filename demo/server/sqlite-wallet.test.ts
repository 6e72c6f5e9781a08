import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openSqliteWallet } from "./sqlite-wallet.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "wallet-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("a file of an earlier version is read", async () => {
  const path = join(folder, "old.db");
  const old = new DatabaseSync(path);
  old.exec(`CREATE TABLE payments (id TEXT PRIMARY KEY, key TEXT NOT NULL UNIQUE, cents INTEGER NOT NULL, recipient TEXT NOT NULL,
    currency TEXT NOT NULL, description TEXT NOT NULL, at INTEGER NOT NULL, transaction_id TEXT NOT NULL) STRICT;
    INSERT INTO payments VALUES ('1', 'k', 5000, 'Hanako', 'USD', '', 1, 'txn')`);
  old.close();
  const opened = openSqliteWallet(path);
  expect(await opened.read()).toMatchObject({ balance: 950, payments: [{ recipient: "Hanako" }] });
  await opened.close();
});
