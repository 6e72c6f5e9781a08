/** What a card says about a call, calls that report later, and calls whose outcome a person has to find out. */
import { call, type ScriptedGemini, startScriptedGemini } from "adk-stream-protocol/testing";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { demoRules } from "../../demo/script/demo-rules.ts";
import { type DemoServer, startDemo } from "../fixtures/demo-server.ts";
import { expectAccessibleIn } from "./accessible.ts";
import {
  approvalId,
  cards,
  clickWhile,
  connectionIs,
  expectText,
  inState,
  openVisitor,
  pathOf,
  say,
  type Visitor,
  waiting,
} from "./page.ts";

/** A day: no deployment of these tests ends by itself. */
const never = String(24 * 60 * 60_000);

/** Reports what came of a call, as the service that runs it would. */
async function report(demo: DemoServer, key: string, body: object): Promise<{ status: number; state: string }> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${demo.url}/calls/${key}`, { method: "POST", headers, body: JSON.stringify(body) });
  return { status: response.status, ...((await response.json()) as { state: string }) };
}

/** How often the page shows these words in the assistant's text. */
const timesSaid = (page: Page, words: string) => page.locator(".text").getByText(words).count();

/** Both themes on a desktop, and a phone. */
const looks = [
  { colorScheme: "light", width: 1280, height: 860 },
  { colorScheme: "dark", width: 1280, height: 860 },
  { colorScheme: "dark", width: 390, height: 844 },
] as const;
const expectAccessible = (page: Page) => expectAccessibleIn(page, looks);

let gemini: ScriptedGemini;
let demo: DemoServer;
/** A server that waits only a moment for reports. */
let hasty: DemoServer;
let visitor: Visitor;
let page: Page;

beforeAll(async () => {
  gemini = await startScriptedGemini({ rules: demoRules });
  const env = { GOOGLE_GEMINI_BASE_URL: gemini.url, DEPLOY_MS: never };
  [visitor, demo, hasty] = await Promise.all([openVisitor(), startDemo(env), startDemo({ ...env, REPORT_MS: "1000" })]);
  ({ page } = visitor);
});
afterAll(async () => {
  await Promise.all([demo.close(), hasty.close()]);
  await gemini.close();
  await visitor.close();
});
beforeEach(async () => {
  gemini.reset(demoRules);
  await Promise.all([demo.start(), hasty.start()]);
});
afterEach(() => visitor.leave());

describe.each([
  ["sse", "ai@6"],
  ["bidi", "ai@7"],
] as const)("a card in %s with useChat of %s", (mode, major) => {
  const visit = (server: DemoServer) => visitor.visit(server.url + pathOf(mode, major));
  const approve = async () => {
    const card = cards(page).first();
    await inState(card, "asked");
    await card.getByRole("button", { name: "Approve" }).click();
    return card;
  };

  it("says what the policy says about the call, in the language of the page", async () => {
    await visit(demo);
    await say(page, "Send 50 dollars to Hanako for lunch");
    const card = page.getByRole("article", { name: "Approval of Send money" });
    await inState(card, "asked");
    await card.getByRole("heading", { name: "Send money" }).waitFor({ timeout: waiting });
    await expectText(card, "process_payment");
    await expectText(card, "It cannot be taken back.");
    await expect.poll(() => card.locator("dt").allInnerTexts()).toEqual(["Amount", "To", "For", "Currency"]);
    await expect.poll(() => card.locator("dd").allInnerTexts()).toEqual(["$50.00", "Hanako", "lunch", "USD"]);

    await page.getByRole("button", { name: "日本語" }).click();
    const japanese = page.getByRole("article", { name: "送金 の承認" });
    await expectText(japanese, "取り消しはできません。");
    await expect.poll(() => japanese.locator("dt").allInnerTexts()).toEqual(["金額", "送金先", "用途", "通貨"]);
    await expectAccessible(page);
  });

  it("shows what the model sent, if the tool gets something else", async () => {
    await visit(demo);
    await say(page, "Deploy the shop");
    const card = cards(page).first();
    await inState(card, "asked");
    await expectText(card, "high risk");
    await card.getByText("Exact call").click();
    await expect
      .poll(() => card.getByRole("group", { name: "What runs" }).innerText())
      .toContain('"environment": "production"');
    const sent = await card.getByRole("group", { name: "What the model sent" }).innerText();
    expect(sent).toContain('"service": "shop"');
    expect(sent).not.toContain("environment");
    await expectAccessible(page);
  });

  it("marks look-alike letters and characters that cannot be seen (X27)", async () => {
    const hostile = "Hanak\u0585\u00a0\u2800";
    const pay = call("process_payment", { amount: 1, recipient: hostile, currency: "USD" });
    gemini.reset([{ when: /Pay/, say: [pay] }, ...demoRules]);
    await visit(demo);
    await say(page, "Pay her");
    const card = cards(page).first();
    await inState(card, "asked");
    const marks = await card.locator('[data-argument="recipient"] [data-part="mark"]').allInnerTexts();
    expect(marks).toEqual(["U+00A0", "U+2800", "mixes Latin + Armenian letters"]);
  });

  it("waits for the report of a deployment through a restart and new text, and shows what came of it once", async () => {
    await visit(demo);
    await say(page, "Deploy the shop");
    const card = await approve();
    await inState(card, "waiting");
    await expectText(card, "Begun, waiting for a report until");
    await expectText(card, "Rolling out to production.");
    await page.getByText("The deployment of shop has begun.").waitFor({ timeout: waiting });
    await page
      .locator("aside")
      .getByRole("img", { name: /asked, approved, running, waiting$/ })
      .waitFor({ timeout: waiting });
    await expectAccessible(page);

    await demo.stop("SIGKILL");
    await demo.start();
    if (mode === "sse") await page.reload();
    else await connectionIs(page, "open");
    await inState(card, "waiting");
    await say(page, "Thank you");
    await page.getByText("You are welcome!").waitFor({ timeout: waiting });
    await inState(card, "waiting");

    const key = await approvalId(page);
    const live = { result: { status: "live", service: "shop", environment: "production" } };
    const [first, second] = await Promise.all([report(demo, key, live), report(demo, key, live)]);
    expect([first.status, second.status]).toEqual([200, 200]);
    await inState(card, "done");
    // By request the model hears of a call of an older message with the next message.
    if (mode === "sse") await say(page, "hello");
    await page.getByText("Shop is live in production.").waitFor({ timeout: waiting });
    expect(await report(demo, key, { error: "no" })).toMatchObject({ status: 409, state: "succeeded" });

    await page.reload();
    await inState(cards(page).first(), "done");
    expect(await timesSaid(page, "Shop is live in production.")).toBe(1);
    expect(await timesSaid(page, "The deployment of shop has begun.")).toBe(1);
  });

  it("shows why a deployment failed", async () => {
    await visit(demo);
    await say(page, "Deploy the shop");
    const card = await approve();
    await inState(card, "waiting");
    await report(demo, await approvalId(page), { error: "The disk is full." });
    await inState(card, "failed");
    await expectText(card, "The disk is full.");
    await page.getByText("The deployment of shop failed: The disk is full.").waitFor({ timeout: waiting });
  });

  it("lets a person say with the keyboard that a call happened, and tells the model", async () => {
    await visit(hasty);
    await say(page, "Deploy the shop");
    const card = await approve();
    await inState(card, "unknown");
    await expectText(card, "No report came in time. It may have taken effect.");
    expect(await report(hasty, await approvalId(page), { result: "late" })).toMatchObject({ status: 409 });

    const happened = card.getByRole("button", { name: "It happened" });
    await happened.click({ trial: true, timeout: waiting });
    await expectAccessible(page);
    // Enter in the text box sends nothing: it does not say what happened.
    await card.getByRole("textbox", { name: "What came of it" }).focus();
    await page.keyboard.type("Version 7 answers.");
    await page.keyboard.press("Enter");
    await inState(card, "unknown");
    await page.keyboard.press("Tab");
    expect(await happened.evaluate((button) => button === document.activeElement)).toBe(true);
    await page.keyboard.press("Enter");
    await inState(card, "done");
    await expectText(card, "Checked: it happened");
    await expectText(card, "Version 7 answers.");
    await page.getByText("The deployment of shop went through: Version 7 answers.").waitFor({ timeout: waiting });
    expect(await card.evaluate((element) => element === document.activeElement)).toBe(true);
    expect(gemini.requests.flatMap(({ pairingErrors }) => pairingErrors)).toEqual([]);
  });

  it("lets a person say that a call did not happen, also if the server could not be reached at first", async () => {
    await visit(hasty);
    await say(page, "Deploy the shop");
    const card = await approve();
    await inState(card, "unknown");
    await card.getByRole("textbox", { name: "What came of it" }).fill("still the old one");
    await hasty.stop("SIGKILL");
    const submit = card.getByRole("button", { name: "It did not happen" });
    await submit.click();
    await card.getByRole("alert").getByText("Try again").waitFor({ timeout: waiting });
    await hasty.start();
    await submit.click();
    await inState(card, "failed");
    await expectText(card, "did not happen");
    await expectText(card, "still the old one");
    await page.reload();
    await inState(cards(page).first(), "failed");
  });

  it("says which state counts if a call was resolved elsewhere", async () => {
    await visit(hasty);
    await say(page, "Deploy the shop");
    const card = await approve();
    await inState(card, "unknown");
    // The page does not hear of the other decision before it sends its own.
    await page.route("**/approvals?*", (route) => route.abort());
    const path = `${hasty.url}/approvals/${await approvalId(page)}/resolution`;
    const headers = { "content-type": "application/json" };
    await fetch(path, { method: "POST", headers, body: JSON.stringify({ happened: true }) });
    await clickWhile(card, "unknown", card.getByRole("button", { name: "It did not happen" }));
    await page.unroute("**/approvals?*");
    await inState(card, "done");
    await expectText(card, "Checked: it happened");
  });
});
