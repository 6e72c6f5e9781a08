/** What a demanding visitor does on the demo page: long and many calls, no mouse, a lost server, high zoom, Japanese. */
import { call, gate, pause, type ScriptedGemini, startScriptedGemini, text } from "adk-stream-protocol/testing";
import type { Locator, Page, WebSocket } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { demoRules } from "../../demo/script/demo-rules.ts";
import { type DemoServer, startDemo } from "../fixtures/demo-server.ts";
import { expectAccessible as expectPageAccessible } from "./accessible.ts";
import {
  approvalId,
  cards,
  choose,
  connectionIs,
  expectText,
  inState,
  openVisitor,
  pathOf,
  say,
  type Visitor,
  waiting,
} from "./page.ts";

let gemini: ScriptedGemini;
let demo: DemoServer;
let visitor: Visitor;
let page: Page;
let before: number;

beforeAll(async () => {
  gemini = await startScriptedGemini({ rules: demoRules });
  // Questions have less than a minute, so the page warns at once.
  const env = { GOOGLE_GEMINI_BASE_URL: gemini.url, APPROVAL_TTL_MS: "59000" };
  [visitor, demo] = await Promise.all([openVisitor(), startDemo(env)]);
  ({ page } = visitor);
});
afterAll(async () => {
  await demo.close();
  await gemini.close();
  await visitor.close();
});
beforeEach(async () => {
  gemini.reset(demoRules);
  await demo.start();
  before = await demo.balance();
});
afterEach(async () => {
  await page.emulateMedia({ forcedColors: null });
  await visitor.leave();
});

const pay = (amount: number, recipient: string, description = "") =>
  call("process_payment", { amount, recipient, currency: "USD", description });
const button = (name: string) => page.getByRole("button", { name, exact: true });
/** Says no outside the page. */
const decline = (id: string) => {
  const headers = { "content-type": "application/json" };
  return fetch(`${demo.url}/approvals/${id}`, { method: "POST", headers, body: JSON.stringify({ approved: false }) });
};
const bar = () => page.getByTestId("waiting-bar");
const draft = () => page.locator("form textarea").last();
/** Waits until a person sees the whole of an element without scrolling. */
async function isInWindow(locator: Locator): Promise<void> {
  const read = () =>
    locator.evaluate((element) => {
      const { top, bottom } = element.getBoundingClientRect();
      return top >= 0 && bottom <= window.innerHeight;
    });
  await expect.poll(read, { timeout: waiting }).toBe(true);
}
async function isFocused(locator: Locator): Promise<void> {
  const read = () => locator.evaluate((element) => element === document.activeElement);
  await expect.poll(read, { timeout: waiting }).toBe(true);
}

const expectAccessible = () => expectPageAccessible(page, { targetSize: true });

describe("nothing can be approved that was not seen (W1)", () => {
  it("a long value is cut, and Approve waits until its end was on the screen", async () => {
    const letter = Array.from({ length: 120 }, (_, index) => `Line ${index} of the letter`).join("\n");
    gemini.reset([{ when: /letter/, say: [pay(12, "Zed", letter)] }, ...demoRules]);
    await visitor.visit(demo.url + pathOf("sse", "ai@7"));
    await say(page, "Pay for the letter");
    const card = cards(page).first();
    await inState(card, "asked");
    const approve = button("Approve $12.00 → Zed");
    await expectText(card, "You can approve after you have seen the whole call.");
    await expect.poll(() => card.locator("dd").getByText("Line 119").count()).toBe(0);
    // A click on Approve opens the value instead.
    await page.waitForFunction(() => !document.querySelector("[data-part=deny][aria-disabled=true]"));
    await approve.click({ force: true });
    await card.locator("dd").getByText("Line 119").waitFor({ timeout: waiting });
    await expect.poll(() => approve.getAttribute("aria-disabled")).toBe("true");
    await expectAccessible();
    const whole = card.getByRole("group", { name: "For" });
    await isFocused(whole);
    await page.keyboard.press("End");
    // A button that comes to the place of a resting pointer is not pressed by it, so the pointer leaves this place.
    await page.mouse.move(0, 0);
    await approve.click();
    await inState(card, "done");
    expect(await demo.balance()).toBe(before - 12);
  });

  it("ten cards begin at the first one, each with a name of its own, and the bar leads to the others", async () => {
    const ten = Array.from({ length: 10 }, (_, index) => pay(1, `Person ${index}`));
    gemini.reset([{ when: /all/, say: ten }, ...demoRules]);
    await visitor.visit(demo.url + pathOf("sse", "ai@6"));
    await say(page, "Pay them all");
    await inState(cards(page).nth(9), "asked");
    await isInWindow(cards(page).first().getByRole("heading"));
    await expect
      .poll(() => page.getByRole("article", { name: "Approval of Send money $1.00 → Person 7" }).count())
      .toBe(1);
    await bar().getByText("8 wait: $1.00 → Person 2").waitFor({ timeout: waiting });
    await button("Show $1.00 → Person 2").click();
    await isFocused(cards(page).nth(2));
    // A reader who scrolls to the end from there stays there when something changes.
    await page.locator(".messages").evaluate((box) => box.scrollTo(0, box.scrollHeight));
    await bar().getByText("Person 0").waitFor({ timeout: waiting });
    await decline(await approvalId(page));
    await inState(cards(page).first(), "denied");
    await isInWindow(cards(page).nth(9).locator("[data-part=approve]"));
    await page.reload();
    await inState(cards(page).nth(9), "asked");
    // A part of the last card is enough to press Approve in a small window, but not enough to approve.
    await isInWindow(cards(page).nth(1).getByRole("heading"));
    await page.setViewportSize({ width: 640, height: 256 });
    const approve = cards(page).nth(9).locator("[data-part=approve]");
    await approve.evaluate((element) => element.scrollIntoView({ block: "start" }));
    const last = button("Approve $1.00 → Person 9");
    await page.waitForFunction(() => !document.querySelector("[data-part=approve][aria-disabled=true]"));
    await last.dispatchEvent("click");
    await inState(cards(page).nth(9), "asked");
    // The page shows the first argument, because nothing of this card was seen.
    await isInWindow(cards(page).nth(9).locator('[data-argument="amount"]'));
    await page.setViewportSize({ width: 1280, height: 860 });
    await last.click();
    await inState(cards(page).nth(9), "done");
    expect(await demo.balance()).toBe(before - 1);
  });
});

describe("answers and messages that did not reach the server (W2, W5)", () => {
  const unsent = () => page.locator(".unsent").getByText("Not sent");
  const said = async () =>
    (await page.locator('[data-role="user"]').allInnerTexts()).map((words) => words.replace(/^You:\s*/, ""));
  /** The server refuses what is said meanwhile. */
  const refused = async (...messages: string[]) => {
    await page.route("**/stream", (route) =>
      route.fulfill({ status: 429, json: { code: "too_many", message: "Too many requests." } }),
    );
    for (const [index, message] of messages.entries()) {
      await say(page, message);
      await unsent().nth(index).waitFor({ timeout: waiting });
    }
    await page.unrouteAll({ behavior: "wait" });
  };

  it("say which answer it was, are kept, and arrive once", async () => {
    await visitor.visit(demo.url + pathOf("sse", "ai@7"));
    await say(page, "Send 7 dollars to Zed");
    const card = cards(page).first();
    await inState(card, "asked");
    await demo.stop("SIGKILL");
    await card.getByRole("textbox", { name: "Reason", exact: true }).fill("too much");
    await card.getByRole("button", { name: "Deny" }).click();
    await inState(card, "sending");
    await expectText(card, "Your Deny is not confirmed.");
    await expectText(card, "expires in");
    // The answer is sent as soon as the server is back.
    await demo.start();
    await inState(card, "denied");
    await expectText(card, "too much");
    await page.getByRole("button", { name: "Send", exact: true }).waitFor({ timeout: waiting });

    await refused("hello one", "hello two");
    await say(page, "hello three");
    await page.getByText(/Hello! I can/).waitFor({ timeout: waiting });
    await page.getByRole("button", { name: "Send", exact: true }).waitFor({ timeout: waiting });
    expect(await said()).toEqual(["Send 7 dollars to Zed", "hello one", "hello two", "hello three"]);
    await page.reload();
    await unsent().nth(1).waitFor({ timeout: waiting });
    expect(await said()).toEqual(["Send 7 dollars to Zed", "hello three", "hello one", "hello two"]);
    await page.locator(".unsent").getByText("Try again").first().click();
    await page
      .getByText(/Hello! I can/)
      .nth(1)
      .waitFor({ timeout: waiting });
    await page.locator(".unsent").getByText("Remove").click();
    await unsent().waitFor({ state: "detached", timeout: waiting });
    await expect.poll(said, { timeout: waiting }).toEqual(["Send 7 dollars to Zed", "hello three", "hello one"]);
    await page.reload();
    await page
      .getByText(/Hello! I can/)
      .nth(1)
      .waitFor({ timeout: waiting });
    expect(await said()).toEqual(["Send 7 dollars to Zed", "hello three", "hello one"]);
    expect(await demo.balance()).toBe(before);
    expect(gemini.requests.flatMap(({ pairingErrors }) => pairingErrors)).toEqual([]);
  });

  it.each(["sse", "bidi"] as const)("are kept when the person stops them on their way, in %s", async (mode) => {
    await visitor.visit(demo.url + pathOf(mode, "ai@7"));
    await say(page, "hello one");
    await page.getByText(/Hello! I can/).waitFor({ timeout: waiting });
    await page.getByRole("button", { name: "Send", exact: true }).waitFor({ timeout: waiting });
    await demo.stop("SIGKILL");
    await page.evaluate(() => window.dispatchEvent(new Event("online")));
    await page.getByRole("alert").getByText("The server cannot be reached.").waitFor({ timeout: waiting });
    await say(page, "hello two");
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await unsent().waitFor({ timeout: waiting });
    await demo.start();
    await page.getByRole("alert").waitFor({ state: "detached", timeout: waiting });
    expect(await unsent().count()).toBe(1);
    await page.locator(".unsent").getByText("Try again").click();
    await page
      .getByText(/Hello! I can/)
      .nth(1)
      .waitFor({ timeout: waiting });
    await unsent().waitFor({ state: "detached", timeout: waiting });
    expect(await said()).toEqual(["hello one", "hello two"]);
  });

  it("are kept when the mode is changed, and so are the draft and the card", async () => {
    const sockets: WebSocket[] = [];
    const note = (socket: WebSocket) => sockets.push(socket);
    page.on("websocket", note);
    await visitor.visit(demo.url + pathOf("sse", "ai@6"));
    await refused("hello one");
    await say(page, "Send 7 dollars to Zed");
    const card = cards(page).first();
    await inState(card, "asked");
    await draft().fill("a draft");
    expect(sockets).toEqual([]);

    await choose(page, "bidi");
    await connectionIs(page, "open");
    await inState(card, "asked");
    await unsent().waitFor({ timeout: waiting });
    expect(await draft().inputValue()).toBe("a draft");
    await card.getByRole("button", { name: "Approve" }).click();
    await inState(card, "done");
    await page.getByRole("button", { name: "Send", exact: true }).waitFor({ timeout: waiting });

    await choose(page, "sse");
    await expect.poll(() => sockets.map((socket) => socket.isClosed()), { timeout: waiting }).toEqual([true]);
    await inState(card, "done");
    await page.locator(".unsent").getByText("Try again").click();
    await page.getByText(/Hello! I can/).waitFor({ timeout: waiting });
    await unsent().waitFor({ state: "detached", timeout: waiting });
    expect(await said()).toEqual(["Send 7 dollars to Zed", "hello one"]);
    expect(await draft().inputValue()).toBe("a draft");
    expect(await demo.balance()).toBe(before - 7);
    page.off("websocket", note);
  });
});

describe("a card that waits while the conversation goes on (W3, W4)", () => {
  it("is named above the composer, and a suggestion does not withdraw it", async () => {
    await visitor.visit(demo.url + pathOf("bidi", "ai@7"));
    await page.setViewportSize({ width: 390, height: 700 });
    await say(page, "Send 7 dollars to Zed");
    const card = cards(page).first();
    await inState(card, "asked");
    for (const count of [0, 1, 2]) {
      await say(page, "hello");
      await page
        .getByText(/Hello! I can/)
        .nth(count)
        .waitFor({ timeout: waiting });
    }
    await bar().getByText("1 waits: $7.00 → Zed").waitFor({ timeout: waiting });
    await bar().getByText("expires in").waitFor({ timeout: waiting });
    await expectAccessible();
    // The badge on a phone leads to the card too, also from the wallet.
    await page.getByRole("button", { name: /^Wallet/ }).click();
    await page.locator("aside").getByRole("button", { name: /Zed/ }).click();
    await isFocused(card);
    await bar().waitFor({ state: "detached", timeout: waiting });
    await page.getByRole("button", { name: "Jump to latest" }).click();
    await bar().waitFor({ timeout: waiting });

    await button("Deploy the shop").click();
    await expect.poll(() => draft().inputValue()).toBe("Deploy the shop");
    await button("What is the weather in Tokyo?").click();
    await expect.poll(() => draft().inputValue()).toBe("What is the weather in Tokyo?");
    await isFocused(draft());
    await expect.poll(() => page.locator('[data-role="user"]').count()).toBe(4);
    await inState(card, "asked");
  });
});

describe("without a mouse or a screen (W6, W12)", () => {
  it("the keyboard reaches everything, and announcements name the call", async () => {
    const held = gate();
    gemini.reset([{ when: /count/, say: [text("one two "), pause(held.opened), text("three")] }, ...demoRules]);
    await visitor.visit(demo.url + pathOf("sse", "ai@6"));
    await isFocused(draft());
    await page.keyboard.type("count");
    await page.keyboard.press("Enter");
    await page.getByText("one two").waitFor({ timeout: waiting });
    await page.keyboard.press("Escape");
    expect(await gemini.waitForEnd(1)).toBe("disconnected");
    held.open();
    await page.getByRole("button", { name: "Send", exact: true }).waitFor({ timeout: waiting });

    await page.keyboard.type("Send 30 dollars to Alice and 40 to Bob");
    await page.keyboard.press("Enter");
    await inState(cards(page).nth(1), "asked");
    await page
      .getByRole("log")
      .getByText("Send money $40.00 → Bob is waiting for your approval.")
      .waitFor({ timeout: waiting });
    // Escape leaves the field and goes to the first card; the keys move the focus and press nothing.
    await page.keyboard.press("Escape");
    await isFocused(cards(page).first());
    await page.keyboard.press("w");
    await isFocused(cards(page).nth(1));
    await page.keyboard.press("a");
    await isFocused(button("Approve $40.00 → Bob"));
    await inState(cards(page).nth(1), "asked");
    await page.keyboard.press("?");
    const sheet = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    await sheet.waitFor({ timeout: waiting });
    await expectAccessible();
    await sheet.getByRole("checkbox").uncheck();
    await page.keyboard.press("Escape");
    await sheet.waitFor({ state: "detached", timeout: waiting });
    await page.keyboard.press("d");
    await isFocused(button("Approve $40.00 → Bob"));
    await page.keyboard.press("Enter");
    await inState(cards(page).nth(1), "done");
    await page.getByRole("log").getByText("Send money $40.00 → Bob: done.").waitFor({ timeout: waiting });
    expect(await demo.balance()).toBe(before - 40);
  });

  it("a question that is decided elsewhere keeps the reason that was being written, and the focus", async () => {
    await visitor.visit(demo.url + pathOf("bidi", "ai@7"));
    await say(page, "Send 9 dollars to Mia");
    const card = cards(page).first();
    await inState(card, "asked");
    await page
      .getByRole("log")
      .getByText("Send money $9.00 → Mia expires in less than a minute.")
      .waitFor({ timeout: waiting });
    await button("Deny $9.00 → Mia").waitFor({ timeout: waiting });
    await card.getByRole("textbox", { name: "Reason", exact: true }).fill("because");
    await decline(await approvalId(page));
    await inState(card, "denied");
    await expectText(card, "This reason was not sent: because");
    await isFocused(card);
  });
});

describe("in any window, in Japanese (W9, W11, O13)", () => {
  it("the header of a phone has room for everything while the connection is lost", async () => {
    await visitor.visit(demo.url + pathOf("bidi", "ai@6"));
    await connectionIs(page, "open");
    await demo.stop("SIGKILL");
    await connectionIs(page, "reconnecting");
    for (const language of ["EN", "日本語"])
      for (const width of [390, 360]) {
        await page.setViewportSize({ width, height: 700 });
        const chosen = page.getByRole("button", { name: language, exact: true });
        if (await chosen.isVisible()) await chosen.click();
        const { x = 0, width: wide = 0 } = (await page.locator(".new-chat").boundingBox()) ?? {};
        expect(x + wide, `${language} ${width}`).toBeLessThanOrEqual(width);
      }
  });

  it("nothing is cut off, forced colours tell the buttons apart, and the server's sentences are translated", async () => {
    await visitor.visit(demo.url + pathOf("bidi", "ai@7"));
    await connectionIs(page, "open");
    await say(page, "花子さんに50ドル送金してください");
    await inState(cards(page).first(), "asked");
    await page.getByRole("button", { name: "日本語" }).click();
    for (const width of [801, 860, 915, 1000]) {
      await page.setViewportSize({ width, height: 700 });
      expect(await page.evaluate(() => document.documentElement.scrollWidth), String(width)).toBe(width);
      const { x = 0, width: wide = 0 } = (await page.locator(".new-chat").boundingBox()) ?? {};
      expect(x + wide, String(width)).toBeLessThanOrEqual(width);
    }
    await page.setViewportSize({ width: 320, height: 256 });
    expect((await page.locator(".messages").boundingBox())?.height).toBeGreaterThan(150);
    await page.emulateMedia({ forcedColors: "active" });
    const colourOf = (name: RegExp) =>
      page.getByRole("button", { name }).evaluate((element) => getComputedStyle(element).backgroundColor);
    await expect.poll(() => colourOf(/^承認 /), { timeout: waiting }).not.toBe(await colourOf(/^拒否/));
    await page.emulateMedia({ forcedColors: null });
    await page.setViewportSize({ width: 1280, height: 860 });
    await expectAccessible();

    gemini.reset([
      {
        say: [
          { kind: "part", part: { executableCode: { language: "PYTHON", code: "print(1 + 1)" } } },
          { kind: "part", part: { codeExecutionResult: { outcome: "OUTCOME_OK", output: "2\n" } } },
        ],
      },
    ]);
    await page.getByRole("button", { name: "SSE", exact: true }).click();
    await say(page, "1 + 1 は？");
    await page
      .getByRole("figure", { name: "モデルが実行したコード（python）" })
      .getByText("print(1 + 1)")
      .waitFor({ timeout: waiting });
    await page.getByRole("figure", { name: "コードの出力" }).getByText("2").waitFor({ timeout: waiting });
    await page.getByRole("button", { name: "送信" }).waitFor({ timeout: waiting });
    // The reply of the live model is over now.
    await page.getByText(/gemini-live.* · 入力 \d+・出力 \d+ トークン/).waitFor({ timeout: waiting });
    await page.route("**/stream", (route) =>
      route.fulfill({ status: 429, json: { code: "too_many", message: "Too many requests." } }),
    );
    await say(page, "もう一度");
    await page.getByRole("alert").getByText("リクエストが多すぎます").waitFor({ timeout: waiting });
    await page.getByText("未送信").waitFor({ timeout: waiting });
    await page.unrouteAll({ behavior: "wait" });
  });
});
