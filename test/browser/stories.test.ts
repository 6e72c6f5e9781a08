/** What a person does on the demo page, in a real browser, with stock `useChat` of both majors. */
import { AxeBuilder } from "@axe-core/playwright";
import {
  call,
  demoRules,
  gate,
  pause,
  type Rule,
  type ScriptedGemini,
  startScriptedGemini,
  text,
} from "adk-stream-protocol/gemini";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { launchBrowser } from "../fixtures/chromium.ts";
import { type DemoServer, startDemo } from "../fixtures/demo-server.ts";

const waiting = 10_000;

let browser: Browser;
beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser.close());

describe.each([
  ["ai@6", "/v6/"],
  ["ai@7", "/"],
])("on the page with stock useChat of %s", (_major, path) => {
  let gemini: ScriptedGemini;
  let demo: DemoServer;
  let context: BrowserContext;
  let page: Page;
  let problems: string[];

  beforeAll(async () => {
    gemini = await startScriptedGemini({ rules: demoRules });
    demo = await startDemo({ GOOGLE_GEMINI_BASE_URL: gemini.url });
  });
  afterAll(async () => {
    await demo.close();
    await gemini.close();
  });
  beforeEach(async () => {
    gemini.reset(demoRules);
    problems = [];
    context = await browser.newContext({ viewport: { width: 1280, height: 860 }, locale: "en-GB" });
    page = await openPage(context, demo.url + path, problems);
  });
  afterEach(async () => {
    await context.close();
    if (problems.length > 0) throw new Error(`The page complained: ${problems.join("; ")}`);
  });

  it("pays once after Approve, shows the new balance, and the assistant says so", async () => {
    const before = await demo.balance();
    await say(page, "花子さんに50ドル送金してください");
    const card = cards(page).first();
    await inState(card, "waiting");
    await expectText(card, "花子");
    await expectText(card, "$50.00");
    expect(await demo.balance()).toBe(before);

    await card.getByRole("button", { name: "Approve" }).dblclick();
    await inState(card, "done");
    await page.getByText("送金しました").waitFor({ timeout: waiting });
    await walletShows(page, before - 50);
    expect(await demo.balance()).toBe(before - 50);
    expect(gemini.requests).toHaveLength(2);
    expect(gemini.requests.flatMap(({ pairingErrors }) => pairingErrors)).toEqual([]);
  });

  it("pays nothing after Deny, and passes the reason on", async () => {
    const before = await demo.balance();
    await say(page, "Send 50 dollars to Hanako");
    const card = cards(page).first();
    await inState(card, "waiting");
    await card.getByRole("button", { name: "Deny" }).click();
    await card.getByRole("textbox").fill("not her");
    await page.keyboard.press("Enter");
    await inState(card, "denied");
    await expectText(card, "not her");
    await page
      .getByText(/not her/)
      .filter({ visible: true })
      .nth(1)
      .waitFor({ timeout: waiting });
    expect(await demo.balance()).toBe(before);
    expect(JSON.stringify(gemini.requests.at(-1)?.contents)).toContain("not her");
  });

  it("decides two payments one by one", async () => {
    const before = await demo.balance();
    await say(page, "Send 30 dollars to Alice and 40 to Bob");
    const [alice, bob] = [cards(page).nth(0), cards(page).nth(1)];
    await inState(bob, "waiting");
    await bob.getByRole("button", { name: "Deny" }).click();
    await page.keyboard.press("Enter");
    await alice.getByRole("button", { name: "Approve" }).click();
    await inState(alice, "done");
    await inState(bob, "denied");
    await walletShows(page, before - 30);
    expect(gemini.requests).toHaveLength(2);
  });

  it("can be used with the keyboard alone", async () => {
    const before = await demo.balance();
    await say(page, "Send 1 dollar to Kei");
    const card = cards(page).first();
    await inState(card, "waiting");
    expect(
      await card.getByRole("button", { name: "Approve" }).evaluate((button) => button === document.activeElement),
    ).toBe(false);
    await card.getByRole("button", { name: "Approve" }).focus();
    await page.keyboard.press("Space");
    await inState(card, "done");
    expect(await demo.balance()).toBe(before - 1);
  });

  it("shows the same card after a reload while it waits, and pays once from there", async () => {
    const before = await demo.balance();
    await say(page, "Send 2 dollars to Ann");
    await inState(cards(page).first(), "waiting");
    const id = await approvalId(page);
    await page.reload();
    await inState(cards(page).first(), "waiting");
    expect(await approvalId(page)).toBe(id);
    await cards(page).first().getByRole("button", { name: "Approve" }).click();
    await inState(cards(page).first(), "done");
    expect(await demo.balance()).toBe(before - 2);
    expect(await page.locator("article[data-approval-id]").count()).toBe(1);
  });

  it("resumes in the middle of a sentence without a lost or doubled word", async () => {
    const held = gate();
    const told = "one two three four five six seven eight nine ten";
    const rules: Rule[] = [
      { say: [text("one two three four "), pause(held.opened), text("five six seven eight nine ten")] },
    ];
    gemini.reset(rules);
    await say(page, "count");
    await page.getByText("one two three four").waitFor({ timeout: waiting });
    await page.reload();
    await page.getByText("one two three four").waitFor({ timeout: waiting });
    held.open();
    await page.getByText(told, { exact: true }).waitFor({ timeout: waiting });
    expect(await page.getByText("one two").count()).toBe(1);
  });

  it("shows the same state in two tabs, and one payment when both approve", async () => {
    const before = await demo.balance();
    await say(page, "Send 3 dollars to Tom");
    await inState(cards(page).first(), "waiting");
    const other = await openPage(context, page.url(), problems);
    await inState(cards(other).first(), "waiting");
    await Promise.all(
      [page, other].map((tab) =>
        cards(tab)
          .first()
          .getByRole("button", { name: "Approve" })
          .click({ timeout: waiting })
          .catch((error: unknown) => {
            // One tab may hear of the other's answer before its own click lands: then there is no button any more.
            if (!/detached|Timeout|not visible/.test(String(error))) throw error;
          }),
      ),
    );
    for (const tab of [page, other]) {
      await inState(cards(tab).first(), "done");
      await walletShows(tab, before - 3);
    }
    expect(await demo.balance()).toBe(before - 3);
  });

  it("shows in one tab what was decided in the other", async () => {
    const before = await demo.balance();
    await say(page, "Send 4 dollars to Tom");
    await inState(cards(page).first(), "waiting");
    const other = await openPage(context, page.url(), problems);
    await inState(cards(other).first(), "waiting");
    await cards(other).first().getByRole("button", { name: "Deny" }).click();
    await other.keyboard.press("Enter");
    await inState(cards(page).first(), "denied");
    expect(await demo.balance()).toBe(before);
  });

  it("shows an answer that came from outside the page", async () => {
    const before = await demo.balance();
    await say(page, "Send 5 dollars to Tom");
    await inState(cards(page).first(), "waiting");
    const response = await fetch(`${demo.url}/approvals/${await approvalId(page)}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ approved: true }),
    });
    expect(response.status).toBe(200);
    await inState(cards(page).first(), "done");
    await walletShows(page, before - 5);
  });

  it("keeps the card when the server is killed while it waits, and pays once after the restart", async () => {
    const before = await demo.balance();
    await say(page, "Send 6 dollars to Yui");
    await inState(cards(page).first(), "waiting");
    const id = await approvalId(page);
    await demo.stop("SIGKILL");
    await demo.start();
    problems.length = 0; // while the server was down, the page's own polling failed
    await page.reload();
    await inState(cards(page).first(), "waiting");
    expect(await approvalId(page)).toBe(id);
    await cards(page).first().getByRole("button", { name: "Approve" }).click();
    await inState(cards(page).first(), "done");
    expect(await demo.balance()).toBe(before - 6);
  });

  it("says that an answer was not delivered when the server is down, and delivers it once", async () => {
    const before = await demo.balance();
    await say(page, "Send 7 dollars to Yui");
    await inState(cards(page).first(), "waiting");
    await demo.stop("SIGKILL");
    await cards(page).first().getByRole("button", { name: "Approve" }).click();
    await inState(cards(page).first(), "undelivered");
    await demo.start();
    await cards(page).first().getByRole("button", { name: /again/i }).click();
    await inState(cards(page).first(), "done");
    expect(await demo.balance()).toBe(before - 7);
    problems.length = 0;
  });

  it("plays music in the page and tells the model", async () => {
    await say(page, "Play track 2");
    await page
      .getByText(/track 2/i)
      .last()
      .waitFor({ timeout: waiting });
    await expect
      .poll(() => JSON.stringify(gemini.requests.at(-1)?.responses), { timeout: waiting })
      .toContain('"track":2');
    expect(gemini.requests).toHaveLength(2);
  });

  it("finds the place only after a yes", async () => {
    await context.grantPermissions(["geolocation"]);
    await context.setGeolocation({ latitude: 35.68, longitude: 139.77 });
    await say(page, "Where am I?");
    const card = cards(page).first();
    await inState(card, "waiting");
    expect(gemini.requests).toHaveLength(1);
    await card.getByRole("button", { name: "Approve" }).click();
    await inState(card, "done");
    await expect
      .poll(() => JSON.stringify(gemini.requests.at(-1)?.responses), { timeout: waiting })
      .toContain("139.77");
    expect(gemini.requests).toHaveLength(2);
  });

  it("never looks for the place after a no", async () => {
    await context.grantPermissions(["geolocation"]);
    await page.evaluate(() => {
      const found = navigator.geolocation.getCurrentPosition.bind(navigator.geolocation);
      navigator.geolocation.getCurrentPosition = (...args) => {
        document.body.dataset["looked"] = "yes";
        found(...args);
      };
    });
    await say(page, "Where am I?");
    const card = cards(page).first();
    await inState(card, "waiting");
    await card.getByRole("button", { name: "Deny" }).click();
    await page.keyboard.press("Enter");
    await inState(card, "denied");
    await expect.poll(() => gemini.requests.length, { timeout: waiting }).toBe(2);
    expect(await page.evaluate(() => document.body.dataset["looked"])).toBeUndefined();
  });

  it("stops a reply in the middle and keeps what was said", async () => {
    const held = gate();
    gemini.reset([{ say: [text("one two three "), pause(held.opened), text("four")] }, ...demoRules]);
    await say(page, "count");
    await page.getByText("one two three").waitFor({ timeout: waiting });
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("button", { name: "Send", exact: true }).waitFor({ timeout: waiting });
    held.open();
    expect(await gemini.waitForEnd(1)).toBe("disconnected");
    await page.reload();
    await page.getByText("one two three", { exact: true }).waitFor({ timeout: waiting });
  });

  it("says that a payment above the balance failed", async () => {
    const before = await demo.balance();
    await say(page, "Send 5000 dollars to Max");
    await inState(cards(page).first(), "waiting");
    await cards(page).first().getByRole("button", { name: "Approve" }).click();
    await inState(cards(page).first(), "failed");
    expect(await demo.balance()).toBe(before);
  });

  it("cancels a waiting call visibly when the person writes on", async () => {
    const before = await demo.balance();
    await say(page, "Send 8 dollars to Max");
    await inState(cards(page).first(), "waiting");
    await say(page, "hello");
    await inState(cards(page).first(), "cancelled");
    expect(await demo.balance()).toBe(before);
    expect(gemini.requests.flatMap(({ pairingErrors }) => pairingErrors)).toEqual([]);
  });

  it("shows hostile arguments as text, whole, and runs none of them", async () => {
    const hostile = "<img src=x onerror=alert(1)>\u202Egnp.exe\u200B";
    gemini.reset([
      { when: ({ fresh }) => fresh, say: [call("process_payment", { amount: 1, recipient: hostile })] },
      { say: [text("ok")] },
    ]);
    page.on("dialog", () => problems.push("a script ran"));
    await say(page, "go");
    const card = cards(page).first();
    await inState(card, "waiting");
    await expectText(card, "<img src=x onerror=alert(1)>");
    await expectText(card, "U+202E");
    await expectText(card, "U+200B");
    expect(await page.locator("article img").count()).toBe(0);
  });

  it("shows a model error as a sentence", async () => {
    gemini.reset([{ say: [{ kind: "fail", code: 429, message: "quota used up" }] }]);
    await say(page, "hello");
    await page
      .getByRole("alert")
      .getByText(/429|quota/i)
      .waitFor({ timeout: waiting });
    expect(gemini.requests).toHaveLength(1);
  });

  it("has no accessibility violations, light on a laptop and dark on a phone", async () => {
    await say(page, "Send 30 dollars to Alice and 40 to Bob");
    await inState(cards(page).nth(1), "waiting");
    await cards(page).nth(0).getByRole("button", { name: "Deny" }).click();
    await page.keyboard.press("Enter");
    for (const [colorScheme, width, height] of [
      ["light", 1280, 860],
      ["dark", 390, 844],
    ] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height });
      const { violations } = await new AxeBuilder({ page }).analyze();
      expect(
        violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`),
        `${colorScheme} ${width}`,
      ).toEqual([]);
    }
  });
});

describe("an approval nobody answers", () => {
  it.each([
    ["ai@6", "/v6/"],
    ["ai@7", "/"],
  ])("expires on the page by itself with %s", async (_major, path) => {
    const demo = await startDemo({ APPROVAL_TTL_MS: "1500" });
    const context = await browser.newContext({ locale: "en-GB" });
    try {
      const page = await openPage(context, demo.url + path, []);
      await say(page, "Send 9 dollars to Mia");
      await inState(cards(page).first(), "waiting");
      await inState(cards(page).first(), "expired");
      expect(await cards(page).first().getByRole("button", { name: "Approve" }).count()).toBe(0);
      expect(await demo.balance()).toBe(1000);
    } finally {
      await context.close();
      await demo.close();
    }
  });
});

async function openPage(context: BrowserContext, url: string, problems: string[]): Promise<Page> {
  const page = await context.newPage();
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) problems.push(message.text());
  });
  page.on("request", (request) => {
    const { protocol, hostname } = new URL(request.url());
    if (protocol.startsWith("http") && hostname !== "127.0.0.1") problems.push(`The page asked ${hostname}.`);
  });
  await page.goto(url);
  await page.getByRole("textbox").first().waitFor({ timeout: waiting });
  return page;
}

async function say(page: Page, words: string): Promise<void> {
  const composer = page.locator("form textarea").last();
  await composer.fill(words);
  await composer.press("Enter");
}

const cards = (page: Page) => page.locator("article[data-approval-id]");
type Card = ReturnType<typeof cards>;

async function inState(card: Card, state: string): Promise<void> {
  await card.and(card.page().locator(`[data-state="${state}"]`)).waitFor({ timeout: waiting });
}

async function expectText(card: Card, words: string): Promise<void> {
  await card.getByText(words).first().waitFor({ timeout: waiting });
}

async function approvalId(page: Page): Promise<string> {
  return (await cards(page).first().getAttribute("data-approval-id")) ?? "";
}

async function walletShows(page: Page, balance: number): Promise<void> {
  await page
    .locator("aside")
    .getByText(`$${balance.toFixed(2)}`)
    .first()
    .waitFor({ timeout: waiting });
}
