/** The stream inspector, the player, the “Break it” menu and Markdown on the demo page. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ScriptedGemini, startScriptedGemini, text } from "adk-stream-protocol/testing";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { demoRules } from "../../demo/script/demo-rules.ts";
import { type DemoServer, startDemo } from "../fixtures/demo-server.ts";
import { expectAccessibleIn } from "./accessible.ts";
import {
  cards,
  choose,
  inState,
  openVisitor,
  pathOf,
  say,
  takesAnswer,
  type Visitor,
  waiting,
  walletShows,
} from "./page.ts";

let gemini: ScriptedGemini;
let demo: DemoServer;
let visitor: Visitor;
let page: Page;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "inspector-"));
  gemini = await startScriptedGemini({ rules: demoRules });
  [visitor, demo] = await Promise.all([
    openVisitor(),
    startDemo({ GOOGLE_GEMINI_BASE_URL: gemini.url, SEAT_MS: "5000" }),
  ]);
  ({ page } = visitor);
});
afterAll(async () => {
  await demo.close();
  await gemini.close();
  await visitor.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  gemini.reset(demoRules);
});
afterEach(() => visitor.leave());

const expectAccessible = () => expectAccessibleIn(page, [{ colorScheme: "light" }, { colorScheme: "dark" }]);

it("shows folded chunks, the log after a reload, what the model was asked, and replays a downloaded log", async () => {
  await visitor.visit(demo.url + pathOf("sse", "ai@7"));
  await page.getByText("Google ADK agents in a Vercel AI SDK chat").waitFor({ timeout: waiting });
  await say(page, "Send 50 dollars to Hanako");
  const card = cards(page).first();
  await inState(card, "asked");
  const lines = page.locator(".stream-list");
  const paidLine = lines.locator("summary").filter({ hasText: "tool-input-start" });
  await lines.getByText("finish-step").waitFor({ timeout: waiting });
  await expect.poll(() => lines.locator(".line-type").getByText("text-delta", { exact: true }).count()).toBe(1);
  await paidLine.hover();
  await page.locator("article[data-lit]").waitFor({ timeout: waiting });
  await takesAnswer(card);
  await card.getByRole("button", { name: /^Approve/ }).click();
  await inState(card, "done");
  await page.getByText("Done: I sent $50").waitFor({ timeout: waiting });
  // One request has the whole reply: its stream stays open while the card waits.
  await lines.getByText("[DONE]").waitFor({ timeout: waiting });
  await expect.poll(() => lines.getByText("→ POST /stream").count()).toBe(1);
  await expect.poll(() => lines.getByText("[DONE]").count()).toBe(1);

  await page.reload();
  await paidLine.waitFor({ timeout: waiting });
  await card.hover();
  await lines.locator(".line-lit").first().waitFor({ timeout: waiting });
  await page.getByRole("button", { name: "Approvals", exact: true }).click();
  // The question, and four states of the call. One that ends at once is not shown as running.
  await expect.poll(async () => [4, 5].includes(await lines.locator("summary").count())).toBe(true);
  await page.getByRole("button", { name: "Model", exact: true }).click();
  await page
    .getByText(/asked: \d+ contents, 11 tools/)
    .first()
    .waitFor({ timeout: waiting });
  await expect.poll(() => page.getByText(/asked: \d+ contents/).count()).toBe(2);
  await expectAccessible();

  const downloading = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download log" }).click();
  const file = join(folder, "log.jsonl");
  await (await downloading).saveAs(file);
  const log = readFileSync(file, "utf8").trimEnd().split("\n");
  expect(JSON.parse(log[0] ?? "")).toMatchObject({ format: "adk-stream-protocol/log", version: 1 });
  const question = log.findIndex((line) => line.includes('"finish-step"'));

  writeFileSync(join(folder, "other.jsonl"), "hello");
  await page.getByTestId("log-file").setInputFiles(join(folder, "other.jsonl"));
  await page.getByText("It is not a log that was downloaded here.").waitFor({ timeout: waiting });
  await page.getByTestId("log-file").setInputFiles(file);
  const replay = page.getByRole("dialog", { name: /Replay/ });
  await replay.getByText("Nothing in it can be decided").waitFor({ timeout: waiting });
  await replay.getByRole("button", { name: "Pause" }).click();
  await replay.getByRole("slider").fill(String(question));
  const recorded = replay.locator("article[data-approval-id]");
  await inState(recorded, "asked");
  const before = await demo.balance();
  for (const button of await recorded.getByRole("button").all())
    await expect.poll(() => button.isDisabled()).toBe(true);
  await expectAccessible();
  await replay.getByRole("slider").fill("9999");
  await inState(recorded, "done");
  await replay.getByText("Done: I sent $50").waitFor({ timeout: waiting });
  expect(await demo.balance()).toBe(before);
  await page.keyboard.press("Escape");
  await replay.waitFor({ state: "detached", timeout: waiting });
});

it("breaks nothing that can be tried: three answers, a cut, a restart, an expiry", async () => {
  await visitor.visit(demo.url + pathOf("bidi", "ai@6"));
  await page.getByText("Break it", { exact: true }).click();
  const trial = (name: string) => page.locator(`[data-trial="${name}"]`);
  const told = (name: string, words: string | RegExp) =>
    trial(name).getByText(words).first().waitFor({ timeout: 20_000 });
  await trial("expire").getByRole("button").click();
  const seat = cards(page).first();
  await inState(seat, "asked");

  const before = await demo.balance();
  await say(page, "Send 30 dollars to Alice");
  await inState(cards(page).nth(1), "asked");
  await trial("cut").getByRole("button").click();
  await told("cut", /connected again after/);
  await told("cut", "Ledger: process_payment is pending.");
  await trial("restart").getByRole("button").click();
  await told("restart", /started again at/);
  await told("restart", "Ledger: process_payment is pending.");
  await told("expire", /Ledger: book_seat is expired/);
  await inState(seat, "expired");

  await trial("double").getByRole("button").click();
  await told("double", /^Deny: 409 Approval .* came too late/);
  await told("double", /Ledger: process_payment is succeeded, decided by local/);
  await told("double", "Wallet: one payment more.");
  await inState(cards(page).nth(1), "done");
  await walletShows(page, before - 30);
  await expectAccessible();
  await page.getByRole("button", { name: "Refill" }).click();
  await page.getByTestId("balance").getByText("$1,000.00").waitFor({ timeout: waiting });
});

it("opens a second tab, and tells in the first one what was answered there", async () => {
  const before = await demo.balance();
  await visitor.visit(demo.url + pathOf("sse", "ai@7"));
  await say(page, "Send 5 dollars to Kim");
  await inState(cards(page).first(), "asked");
  await page.getByText("Break it", { exact: true }).click();
  const trial = page.locator('[data-trial="tab"]');
  const opening = page.waitForEvent("popup");
  await trial.getByRole("button").click();
  const tab = await opening;
  await trial.getByText("Answer there and watch this one.").waitFor({ timeout: waiting });
  const card = cards(tab).first();
  await inState(card, "asked");
  await takesAnswer(card);
  await card.getByRole("button", { name: /^Approve/ }).click();
  await inState(card, "done");
  await inState(cards(page).first(), "done");
  await trial.getByText(/Ledger: process_payment is succeeded/).waitFor({ timeout: waiting });
  expect(await demo.balance()).toBe(before - 5);
});

it("draws Markdown, and nothing in it runs, is loaded or leads elsewhere unseen", async () => {
  const reply = [
    "# Plan",
    "- **one** `code`",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    '<img src=x onerror="window.ran = true"><script>window.ran = true</script>',
    "![cat](https://evil.example/cat.png) [bank.example](https://evil.example/) [x](javascript:window.ran=true)",
  ].join("\n\n");
  gemini.reset([{ when: /plan/, say: [text(reply)] }, ...demoRules]);
  await visitor.visit(demo.url + pathOf("sse", "ai@6"));
  await say(page, "plan");
  const said = page.locator(".text").last();
  await said.getByText("[x](javascript:window.ran=true)").waitFor({ timeout: waiting });
  await said.getByRole("heading", { name: "Plan" }).waitFor({ timeout: waiting });
  await expect.poll(() => said.locator("li strong").innerText()).toBe("one");
  await expect.poll(() => said.locator("td").allInnerTexts()).toEqual(["1", "2"]);
  await expect.poll(() => said.locator("img, script").count()).toBe(0);
  const links = said.getByRole("link");
  expect(
    await links.evaluateAll((all) => all.map((link) => [link.getAttribute("href"), link.getAttribute("rel")])),
  ).toEqual([
    ["https://evil.example/cat.png", "noopener noreferrer"],
    ["https://evil.example/", "noopener noreferrer"],
  ]);
  await expect.poll(() => said.innerText()).toContain("bank.example (evil.example)");
  expect(await page.evaluate(() => "ran" in window)).toBe(false);
  await choose(page, "bidi");
  await page.getByText("one WebSocket").waitFor({ timeout: waiting });
});
