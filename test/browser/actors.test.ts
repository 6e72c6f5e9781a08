/** Two people with a browser each: one asks, the other decides. And a person who is signed out. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { LogLevel, setLogLevel } from "@google/adk";
import { type Bridge, createBridge, silentLogger } from "adk-stream-protocol";
import { listen, type Listening, type ListenOptions, loadStaticPage } from "adk-stream-protocol/server";
import type { Store } from "adk-stream-protocol/stores";
import { sqliteStore } from "adk-stream-protocol/stores/sqlite";
import { geminiAt, type ScriptedGemini, startScriptedGemini } from "adk-stream-protocol/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { demoRules } from "../../demo/script/demo-rules.ts";
import { createAgent } from "../../demo/server/agent.ts";
import { openSqliteDeployments } from "../../demo/server/sqlite-deployments.ts";
import { openSqliteWallet } from "../../demo/server/sqlite-wallet.ts";
import type { Wallet } from "../../demo/server/wallet.ts";
import {
  approvalId,
  cards,
  connectionIs,
  expectText,
  inState,
  type Major,
  type Mode,
  openVisitor,
  pathOf,
  say,
  takesAnswer,
  type Visitor,
  waiting,
} from "./page.ts";

setLogLevel(LogLevel.ERROR);

/** The demo's page, agent and wallet, on a server that knows people by a cookie. They all belong to one team. */
async function openOffice() {
  const folder = mkdtempSync(join(tmpdir(), "adk-stream-office-"));
  const gemini: ScriptedGemini = await startScriptedGemini({ rules: demoRules });
  const wallet: Wallet = openSqliteWallet(join(folder, "wallet.db"));
  const deployments = openSqliteDeployments(join(folder, "deployments.db"), 1000);
  const store: Store = sqliteStore({ path: join(folder, "bridge.db") });
  const revoked = new Set<string>();
  let handshakes = 0;
  const bridge: Bridge = await createBridge({
    agent: createAgent({ model: geminiAt({ model: "gemini-2.5-flash", url: gemini.url }), wallet, deployments }),
    store,
    logger: silentLogger,
    live: { model: "gemini-live-2.5-flash-preview" },
    authorize: (actor, { requestedBy }) => actor === "manager" && requestedBy !== "manager",
  });
  const built = (name: string) => fileURLToPath(new URL(`../../demo/dist/${name}`, import.meta.url));
  const page = loadStaticPage({ "/": built("page-v7"), "/v6/": built("page-v6") });
  const options: ListenOptions = {
    bridge,
    port: 0,
    logger: silentLogger,
    limits: { heartbeatMs: 1000 },
    authenticate: (request) => {
      const actor = /\bperson=(\w+)/.exec(request.headers.get("cookie") ?? "")?.[1];
      if (new URL(request.url).pathname === "/live") handshakes += 1;
      return actor === undefined || revoked.has(actor) ? undefined : { owner: "team", actor };
    },
    fallback: async (request) =>
      new URL(request.url).pathname === "/wallet" ? Response.json(await wallet.read()) : page.respond(request),
  };
  const server: Listening = await listen(options);
  return {
    url: server.url,
    store,
    wallet,
    revoked,
    /** How often a socket was authenticated: at its handshake and again. */
    handshakes: () => handshakes,
    async close() {
      await server.close();
      await bridge.close();
      await store.close();
      await wallet.close();
      await deployments.close();
      await gemini.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

let office: Awaited<ReturnType<typeof openOffice>>;
let [alice, manager] = [] as unknown as [Visitor, Visitor];

beforeAll(async () => {
  [office, alice, manager] = await Promise.all([openOffice(), openVisitor(), openVisitor()]);
});
afterAll(async () => {
  await Promise.all([alice.close(), manager.close()]);
  await office.close();
});
beforeEach(async () => {
  for (const [visitor, value] of [
    [alice, "alice"],
    [manager, "manager"],
  ] as const)
    await visitor.context.addCookies([{ name: "person", value, url: office.url }]);
});
afterEach(async () => {
  office.revoked.clear();
  await alice.leave();
  await manager.leave();
});

describe.each<[Mode, Major]>([
  ["sse", "ai@6"],
  ["sse", "ai@7"],
  ["bidi", "ai@6"],
  ["bidi", "ai@7"],
])("two people in %s with useChat of %s", (mode, major) => {
  it("the manager approves in another browser; the requester cannot; card and audit name both", async () => {
    const before = (await office.wallet.read()).balance;
    await alice.visit(office.url + pathOf(mode, major));
    await say(alice.page, "Send 5 dollars to Ann");
    const hers = cards(alice.page).first();
    await inState(hers, "asked");
    const id = await approvalId(alice.page);

    await takesAnswer(hers);
    await hers.getByRole("button", { name: "Approve" }).click();
    await alice.page.getByText(`There is no approval ${id} here.`).first().waitFor({ timeout: waiting });
    expect((await office.wallet.read()).balance).toBe(before);

    await manager.visit(alice.page.url());
    const theirs = cards(manager.page).first();
    await inState(theirs, "asked");
    expect(await approvalId(manager.page)).toBe(id);
    await takesAnswer(theirs);
    await theirs.getByRole("button", { name: "Approve" }).click();
    await inState(theirs, "done");
    await expectText(theirs, "manager");
    await inState(hers, "done");
    await expectText(hers, "manager");
    expect((await office.wallet.read()).balance).toBe(before - 5);

    const row = await office.store.getApproval(id);
    expect(row).toMatchObject({ owner: "team", requestedBy: "alice", decidedBy: "manager", state: "succeeded" });
    const audit = (await office.store.audit(row?.chat ?? "")).filter(({ approvalId: about }) => about === id);
    expect(audit.slice(0, 2)).toMatchObject([
      { event: "create", by: "alice" },
      { event: "approve", by: "manager" },
    ]);

    // The chat goes on for the requester.
    await say(alice.page, "What is the weather in Tokyo?");
    await alice.page.locator('[data-role="assistant"] .text').getByText(/Tokyo/).last().waitFor({ timeout: waiting });
  });
});

describe.each<[Mode]>([["sse"], ["bidi"]])("a person who is signed out while the page is open, in %s", (mode) => {
  it("reads that in words, and the page does not connect again and again", async () => {
    await alice.visit(office.url + pathOf(mode, "ai@7"));
    await say(alice.page, "Send 5 dollars to Ann");
    await inState(cards(alice.page).first(), "asked");
    office.revoked.add("alice");
    await alice.page.getByText("You are signed out.").first().waitFor({ timeout: waiting });
    if (mode === "sse") return;
    await connectionIs(alice.page, "signed-out");
    const asked = office.handshakes();
    // The page asks for the ledger meanwhile, and finds out every time that the person is signed out.
    for (let times = 0; times < 2; times += 1)
      await alice.page.waitForResponse((response) => response.status() === 401, { timeout: waiting });
    expect(office.handshakes()).toBe(asked);
    await connectionIs(alice.page, "signed-out");
  });
});
