/** A person chats through a balancer while nodes die and leave: three real processes on one PostgreSQL database. */
import {
  call,
  gate,
  pause,
  type Rule,
  type ScriptedGemini,
  startScriptedGemini,
  text,
} from "adk-stream-protocol/testing";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { demoRules } from "../../demo/script/demo-rules.ts";
import { type Cluster, nameOf, startCluster } from "../../scripts/nodes/cluster.ts";
import type { DemoNode } from "../../scripts/nodes/demo-node.ts";
import { type TestDatabase, testDatabase } from "../fixtures/postgres.ts";
import { cards, inState, type Mode, openVisitor, pathOf, say, takesAnswer, type Visitor, waiting } from "./page.ts";

const leaseMs = 1500;

let gemini: ScriptedGemini;
let database: TestDatabase;
let cluster: Cluster;
let visitor: Visitor;
let page: Page;

beforeAll(async () => {
  [gemini, database, visitor] = await Promise.all([
    startScriptedGemini({ rules: demoRules }),
    testDatabase({ bare: true }),
    openVisitor(),
  ]);
  cluster = await startCluster({
    ...{ count: 3, port: 0, databaseUrl: database.url },
    env: { LEASE_MS: String(leaseMs), GOOGLE_GEMINI_BASE_URL: gemini.url },
  });
  ({ page } = visitor);
});
afterAll(async () => {
  await cluster.close();
  await visitor.close();
  await gemini.close();
  await database.close();
});
beforeEach(() => startAll());
afterEach(() => visitor.leave());

/** Starts the nodes that have ended, and waits until all get requests. */
async function startAll(): Promise<void> {
  await Promise.all(cluster.nodes.map((node) => node.start()));
  await readyAre(3);
}

async function readyAre(count: number): Promise<void> {
  await expect
    .poll(() => cluster.balancer.targets.filter(({ state }) => state === "ready"), { timeout: waiting })
    .toHaveLength(count);
}

/** The node that has the chat in which something happens. */
async function owner(): Promise<DemoNode> {
  const names = await Promise.all(cluster.nodes.map(nameOf));
  const [row] = await database.run(
    "SELECT lease_node FROM adk_stream_protocol.session WHERE lease_node IS NOT NULL ORDER BY lease_until DESC LIMIT 1",
  );
  const found = cluster.nodes[names.indexOf(String(row?.["lease_node"]))];
  if (!found) throw new Error("No node has the chat.");
  return found;
}

const sentence = "Once upon a time there was a node that died.";

/** A model that stops in the middle of its first sentence until the gate is open, and then starts again. */
function interrupted(held: { opened: Promise<void> }): Rule[] {
  let asked = 0;
  return [
    {
      when: /story/,
      say: () => {
        asked += 1;
        return asked === 1 ? [text("Once upon a time "), pause(held.opened)] : [text(sentence)];
      },
    },
    ...demoRules,
  ];
}

const replyText = () => page.locator('[data-role="assistant"] .text').allInnerTexts();
const notices = () => page.locator(".notice").allInnerTexts();

declare global {
  interface Window {
    /** What the reply was before and after each time it became shorter. */
    lostWords: string[];
  }
}

/** Notes each time when words of the reply disappear, also for a moment. */
const watchForLostWords = () =>
  page.evaluate(() => {
    window.lostWords = [];
    const read = () => document.querySelector('[data-role="assistant"] .text')?.textContent ?? "";
    let before = read();
    new MutationObserver(() => {
      const now = read();
      if (now.length < before.length) window.lostWords.push(before, now);
      before = now;
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
const lostWords = () => page.evaluate(() => window.lostWords);

describe.each<Mode>(["sse", "bidi"])("the page in %s on three nodes", (mode) => {
  beforeEach(() => gemini.reset(demoRules));

  it.each([
    ["kill", "ai@7"],
    ["drain", "ai@7"],
    ["pause", "ai@7"],
    ["kill", "ai@6"],
  ] as const)("the sentence goes on after %s of its node (%s)", async (end, version) => {
    const held = gate();
    gemini.reset(interrupted(held));
    await visitor.visit(cluster.url + pathOf(mode, version));
    await say(page, "Tell me a story");
    await page.getByText("Once upon a time").waitFor({ timeout: waiting });
    await watchForLostWords();
    const node = await owner();
    const ended = node[end]();
    // A reply of a live model ends with an error instead, keeps its words, and is made again with a click.
    if (mode === "bidi") {
      await page.getByRole("button", { name: "Try again" }).waitFor({ timeout: waiting });
      expect(await replyText()).toEqual(["Once upon a time"]);
      await page.getByRole("button", { name: "Try again" }).click();
    }
    await expect.poll(replyText, { timeout: waiting }).toEqual([sentence]);
    await expect.poll(notices, { timeout: waiting }).toEqual([]);
    // A reply that is made again after a click begins anew.
    if (mode === "sse") expect(await lostWords()).toEqual([]);
    // A node that was paused goes on with what it was doing, and writes nothing.
    node.resume();
    held.open();
    await ended;
    if (end === "pause") await readyAre(3);
    await page.reload();
    await expect.poll(replyText, { timeout: waiting }).toEqual([sentence]);
  });

  it("a card is asked on one node, answered on another, and its tool runs on the third", async () => {
    const held = gate();
    const pay = call("process_payment", { amount: 5, recipient: "Hanako" });
    gemini.reset([{ when: /five/, say: [text("Let me see."), pause(held.opened), pay] }, ...demoRules]);
    const before = await wallet();
    await visitor.visit(cluster.url + pathOf(mode, "ai@7"));
    await say(page, "Send five dollars to Hanako");
    await page.getByText("Let me see.").waitFor({ timeout: waiting });
    const asker = await owner();
    held.open();
    const card = cards(page).first();
    await inState(card, "asked");
    await asker.kill();
    await readyAre(2);

    // The tool cannot end while another transaction has the wallet.
    await database.run("BEGIN");
    await database.run("SELECT FROM adk_stream_protocol_demo.wallet FOR UPDATE");
    await takesAnswer(card);
    await card.getByRole("button", { name: "Approve" }).click();
    await inState(card, "running");
    const answerer = await owner();
    expect(answerer.port).not.toBe(asker.port);
    await answerer.kill();
    await database.run("COMMIT");

    await inState(card, "done");
    const after = await wallet();
    expect(after.balance).toBe(before.balance - 5);
    expect(after.payments).toHaveLength(before.payments.length + 1);
    await page.reload();
    await inState(cards(page).first(), "done");
    await expect.poll(() => cards(page).count()).toBe(1);
  });
});

async function wallet(): Promise<{ balance: number; payments: unknown[] }> {
  return (await (await fetch(`${cluster.url}/wallet`)).json()) as { balance: number; payments: unknown[] };
}
