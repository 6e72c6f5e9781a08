import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openWallet, type Wallet } from "./wallet.ts";

let folder: string;
let wallet: Wallet;
const order = { amount: 50, recipient: "Hanako", currency: "USD", description: "" };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "wallet-"));
  wallet = openWallet(join(folder, "wallet.db"), () => 1234);
});
afterEach(() => {
  wallet.close();
  rmSync(folder, { recursive: true });
});

test("starts with 1000 dollars and no payments", () => {
  expect(wallet.read()).toEqual({ balance: 1000, currency: "USD", payments: [] });
});

test("pays and remembers it", () => {
  const receipt = wallet.pay("k1", order);
  expect(receipt).toMatchObject({ amount: 50, recipient: "Hanako", wallet_balance: 950, at: 1234 });
  expect(wallet.read()).toMatchObject({ balance: 950, payments: [{ transaction_id: receipt.transaction_id }] });
});

test("the same key pays once and gives the same payment back", () => {
  const first = wallet.pay("k1", order);
  const second = wallet.pay("k1", order);
  expect(second).toEqual(first);
  expect(wallet.read().payments).toHaveLength(1);
});

test("another process that has the file open sees the key too", () => {
  const other = openWallet(join(folder, "wallet.db"));
  const first = wallet.pay("k1", order);
  expect(other.pay("k1", order).transaction_id).toBe(first.transaction_id);
  expect(other.read().balance).toBe(950);
  other.close();
});

test("survives being opened again", () => {
  wallet.pay("k1", order);
  wallet.close();
  wallet = openWallet(join(folder, "wallet.db"));
  expect(wallet.read().balance).toBe(950);
});

test.each([
  [{ amount: 1000.01 }, "more than that"],
  [{ amount: 0 }, "more than 0"],
  [{ amount: -5 }, "more than 0"],
  [{ amount: Number.NaN }, "more than 0"],
  [{ amount: 0.001 }, "whole number of cents"],
  [{ amount: 10.005 }, "whole number of cents"],
  [{ recipient: " " }, "recipient"],
  [{ currency: "JPY" }, "USD"],
])("refuses %j with a sentence and pays nothing", (change, words) => {
  expect(() => wallet.pay("k1", { ...order, ...change })).toThrow(words);
  expect(wallet.read()).toMatchObject({ balance: 1000, payments: [] });
});

test("can be emptied to the cent", () => {
  wallet.pay("a", { ...order, amount: 999.99 });
  expect(wallet.pay("b", { ...order, amount: 0.01 }).wallet_balance).toBe(0);
  expect(() => wallet.pay("c", { ...order, amount: 0.01 })).toThrow("0.00 USD");
});

test("is full again after a reset, and a call that was paid stays paid", () => {
  const first = wallet.pay("k1", order);
  wallet.reset();
  expect(wallet.read()).toEqual({ balance: 1000, currency: "USD", payments: [] });
  expect(wallet.pay("k1", order).transaction_id).toBe(first.transaction_id);
  expect(wallet.read().payments).toEqual([]);
  expect(wallet.pay("k2", order).wallet_balance).toBe(950);
});

test("a file of an earlier version is read", () => {
  const path = join(folder, "old.db");
  const old = new DatabaseSync(path);
  old.exec(`CREATE TABLE payments (id TEXT PRIMARY KEY, key TEXT NOT NULL UNIQUE, cents INTEGER NOT NULL, recipient TEXT NOT NULL,
    currency TEXT NOT NULL, description TEXT NOT NULL, at INTEGER NOT NULL, transaction_id TEXT NOT NULL) STRICT;
    INSERT INTO payments VALUES ('1', 'k', 5000, 'Hanako', 'USD', '', 1, 'txn')`);
  old.close();
  const opened = openWallet(path);
  expect(opened.read()).toMatchObject({ balance: 950, payments: [{ recipient: "Hanako" }] });
  opened.close();
});
