import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Deployments, Report } from "./deployments.ts";
import { openSqliteDeployments } from "./sqlite-deployments.ts";

let folder: string;
let clock: number;
let deployments: Deployments;
let reports: [key: string, report: Report][];
const take = async (_owner: string, key: string, report: Report) => void reports.push([key, report]);
const open = () => openSqliteDeployments(join(folder, "deployments.db"), 1000, () => clock);
const shop = { service: "shop", environment: "production" };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deployments-"));
  clock = 5000;
  reports = [];
  deployments = open();
});
afterEach(async () => {
  await deployments.close();
  rmSync(folder, { recursive: true });
});

test("a deployment is reported once, when it has ended", async () => {
  const { deployment } = await deployments.begin("me", "k1", shop);
  expect((await deployments.begin("me", "k1", shop)).deployment).toBe(deployment);
  clock += 999;
  await deployments.reportEnded(take);
  expect(reports).toEqual([]);
  clock += 1;
  await Promise.all([deployments.reportEnded(take), deployments.reportEnded(take)]);
  await deployments.reportEnded(take);
  expect(reports).toEqual([["k1", { result: { status: "live", deployment, ...shop } }]]);
});

test("a report that is not taken is sent again after a restart", async () => {
  await deployments.begin("me", "k1", { ...shop, service: "broken-shop" });
  clock += 1000;
  await expect(deployments.reportEnded(() => Promise.reject(new Error("stopping")))).rejects.toThrow("stopping");
  await deployments.close();
  deployments = open();
  await deployments.reportEnded(take);
  expect(reports).toEqual([["k1", { error: expect.stringContaining("health check") }]]);
});

test("a silent service never reports", async () => {
  await deployments.begin("me", "k1", { ...shop, service: "silent-shop" });
  clock += 1_000_000_000;
  await deployments.reportEnded(take);
  expect(reports).toEqual([]);
});

test("a report that is refused for good is not sent again", async () => {
  await deployments.begin("me", "k1", shop);
  clock += 1000;
  await deployments.reportEnded(() => Promise.reject(Object.assign(new Error("too late"), { code: "conflict" })));
  await deployments.reportEnded(take);
  expect(reports).toEqual([]);
});
