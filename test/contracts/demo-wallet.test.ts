/** The wallet of the demo, in a SQLite file and in a PostgreSQL database that several nodes share. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type DemoDatabase, openDemoDatabase } from "../../demo/server/demo-database.ts";
import { openPostgresDeployments } from "../../demo/server/postgres-deployments.ts";
import { openPostgresWallet } from "../../demo/server/postgres-wallet.ts";
import { openSqliteWallet } from "../../demo/server/sqlite-wallet.ts";
import type { Wallet } from "../../demo/server/wallet.ts";
import { type TestDatabase, testDatabase } from "../fixtures/postgres.ts";

const order = { amount: 50, recipient: "Hanako", currency: "USD", description: "" };
let database: TestDatabase;
let nodes: DemoDatabase[];
beforeAll(async () => {
  database = await testDatabase({ bare: true });
  // Nodes may start at the same moment on an empty database.
  nodes = await Promise.all([1, 2, 3].map(() => openDemoDatabase(database.url)));
  await Promise.all(nodes.map((node) => openPostgresWallet(node)));
});
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.close()));
  await database.close();
});
const node = (index: number) => nodes[index] as DemoDatabase;

let folder: string;
let round = 0;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "wallet-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const kinds: Record<string, () => Promise<Wallet>> = {
  SQLite: async () => openSqliteWallet(join(folder, "wallet.db")),
  PostgreSQL: () => openPostgresWallet(node(round++ % nodes.length)),
};

describe.each(Object.entries(kinds))("a wallet in %s", (_, open) => {
  let wallet: Wallet;
  beforeEach(async () => {
    await database.run("DELETE FROM adk_stream_protocol_demo.payment");
    await database.run("UPDATE adk_stream_protocol_demo.wallet SET cents = 100000");
    wallet = await open();
  });
  afterEach(() => wallet.close());

  test("starts with 1000 dollars and no payments", async () => {
    expect(await wallet.read()).toEqual({ balance: 1000, currency: "USD", payments: [] });
  });

  test("pays and remembers it", async () => {
    const receipt = await wallet.pay("k1", order);
    expect(receipt).toMatchObject({ amount: 50, recipient: "Hanako", wallet_balance: 950 });
    expect(await wallet.read()).toMatchObject({ balance: 950, payments: [{ transaction_id: receipt.transaction_id }] });
  });

  test("the same key pays once and gives the same payment back", async () => {
    const first = await wallet.pay("k1", order);
    const second = await wallet.pay("k1", order);
    expect(second).toEqual(first);
    expect((await wallet.read()).payments).toHaveLength(1);
  });

  test("another process sees the key too", async () => {
    const other = await open();
    const first = await wallet.pay("k1", order);
    expect((await other.pay("k1", order)).transaction_id).toBe(first.transaction_id);
    expect((await other.read()).balance).toBe(950);
    await other.close();
  });

  test("survives being opened again", async () => {
    await wallet.pay("k1", order);
    await wallet.close();
    wallet = await open();
    expect((await wallet.read()).balance).toBe(950);
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
  ])("refuses %j with a sentence and pays nothing", async (change, words) => {
    await expect(wallet.pay("k1", { ...order, ...change })).rejects.toThrow(words);
    expect(await wallet.read()).toMatchObject({ balance: 1000, payments: [] });
  });

  test("can be emptied to the cent", async () => {
    await wallet.pay("a", { ...order, amount: 999.99 });
    expect((await wallet.pay("b", { ...order, amount: 0.01 })).wallet_balance).toBe(0);
    await expect(wallet.pay("c", { ...order, amount: 0.01 })).rejects.toThrow("0.00 USD");
  });

  test("is full again after a reset, and a call that was paid stays paid", async () => {
    const first = await wallet.pay("k1", order);
    await wallet.reset();
    expect(await wallet.read()).toEqual({ balance: 1000, currency: "USD", payments: [] });
    expect((await wallet.pay("k1", order)).transaction_id).toBe(first.transaction_id);
    expect((await wallet.read()).payments).toEqual([]);
    expect((await wallet.pay("k2", order)).wallet_balance).toBe(950);
  });

  test("attempts at the same moment pay once", async () => {
    const others = await Promise.all([open(), open()]);
    const receipts = await Promise.all([wallet, ...others, wallet].map((one) => one.pay("k1", order)));
    expect(new Set(receipts.map((receipt) => receipt.transaction_id)).size).toBe(1);
    expect(await wallet.read()).toMatchObject({ balance: 950, payments: [{ amount: 50 }] });
    for (const other of others) await other.close();
  });

  test("payments at the same moment never spend more than there is", async () => {
    const other = await open();
    const keys = Array.from({ length: 12 }, (_unused, index) => `k${index}`);
    const paid = await Promise.allSettled(
      keys.map((key, index) => (index % 2 ? wallet : other).pay(key, { ...order, amount: 300 })),
    );
    expect(paid.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
    expect(await wallet.read()).toMatchObject({ balance: 100, payments: [{}, {}, {}] });
    await other.close();
  });

  test("takes any text, and refuses any amount with a sentence", async () => {
    await wallet.pay("k1", { ...order, recipient: "a\0b" });
    await expect(wallet.pay("k2", { ...order, amount: 1e300 })).rejects.toThrow("is more than that");
  });
});

describe("deployments in PostgreSQL", () => {
  const shop = { service: "shop", environment: "production" };

  test("are begun once, and reported by one node", async () => {
    const [one, two] = [openPostgresDeployments(node(0), 0), openPostgresDeployments(node(1), 0)];
    const { deployment } = await one.begin("me", "k1", shop);
    expect((await two.begin("me", "k1", shop)).deployment).toBe(deployment);
    await one.begin("me", "k2", { ...shop, service: "silent-shop" });
    const reports: unknown[] = [];
    const take = async (_owner: string, key: string, report: unknown) => void reports.push([key, report]);
    await Promise.all([one.reportEnded(take), two.reportEnded(take)]);
    await two.reportEnded(take);
    expect(reports).toEqual([["k1", { result: { status: "live", deployment, ...shop } }]]);
  });

  test("are reported by another node if the first one could not", async () => {
    const [one, two] = [openPostgresDeployments(node(0), 0), openPostgresDeployments(node(1), 0)];
    await one.begin("me", "k3", { ...shop, service: "broken-shop" });
    await expect(one.reportEnded(() => Promise.reject(new Error("stopping")))).rejects.toThrow("stopping");
    const reports: unknown[] = [];
    await two.reportEnded(async (_owner, key, report) => void reports.push([key, report]));
    expect(reports).toEqual([["k3", { error: expect.stringContaining("health check") }]]);
  });
});
