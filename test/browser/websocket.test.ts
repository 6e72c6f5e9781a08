/** What only the WebSocket can do, and what can happen to it, on the demo page with `useChat` of both majors. */
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
import { type CutProxy, openCutProxy } from "../fixtures/cut-proxy.ts";
import { type DemoServer, startDemo } from "../fixtures/demo-server.ts";
import {
  approvalId,
  cards,
  choose,
  connectionIs,
  inState,
  type Major,
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
let proxy: CutProxy;
let visitor: Visitor;
let page: Page;
let before: number;

beforeAll(async () => {
  gemini = await startScriptedGemini({ rules: demoRules });
  [visitor, demo] = await Promise.all([openVisitor(), startDemo({ GOOGLE_GEMINI_BASE_URL: gemini.url })]);
  ({ page } = visitor);
  proxy = await openCutProxy(demo.url);
});
afterAll(async () => {
  await proxy.close();
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
  proxy.release();
  proxy.refuse(false);
  await visitor.leave();
});

const approve = () => cards(page).first().getByRole("button", { name: "Approve" });
/** Waits until the assistant's text, not a card, contains this. */
const assistantSays = (words: RegExp) =>
  page.locator('[data-role="assistant"] .text').getByText(words).last().waitFor({ timeout: waiting });
/** The number of replies on the page that show nothing. */
const emptyReplies = () =>
  page
    .locator('[data-role="assistant"]')
    .evaluateAll(
      (replies) => replies.filter((reply) => ![...reply.children].some((part) => part.tagName !== "SPAN")).length,
    );
const decideElsewhere = async () => {
  const response = await fetch(`${demo.url}/approvals/${await approvalId(page)}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ approved: true }),
  });
  expect(response.status).toBe(200);
};
const told = () => gemini.requests.flatMap(({ responses }) => responses);
/** Waits until the reply has ended. Its card may be visible before that. */
const replyEnds = () => page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached", timeout: waiting });

describe.each<[Major]>([["ai@6"], ["ai@7"]])("the mode on the page of %s", (major) => {
  it("can be changed while a question waits, and the question can be answered in the other mode", async () => {
    await visitor.visit(demo.url + pathOf("sse", major));
    await expect.poll(() => page.locator("[data-connection]").count()).toBe(0);
    await say(page, "Send 2 dollars to Ann");
    await inState(cards(page).first(), "asked");
    const id = await approvalId(page);
    await page.locator("form textarea").last().fill("a draft");

    await choose(page, "bidi");
    await connectionIs(page, "open");
    await page
      .locator("[data-connection]")
      .getByText(/\d+ ms/)
      .waitFor({ timeout: waiting });
    await inState(cards(page).first(), "asked");
    expect(await approvalId(page)).toBe(id);
    await expect.poll(() => page.locator("form textarea").last().inputValue()).toBe("a draft");
    await approve().click();
    await inState(cards(page).first(), "done");
    await assistantSays(/Ann/);
    await walletShows(page, before - 2);
    // The answer belongs to no mode: the reply goes on where it began.
    expect(gemini.requests.map(({ wire }) => wire)).toEqual(["http", "http"]);

    await say(page, "Send 3 dollars to Ben");
    await inState(cards(page).nth(1), "asked");
    await choose(page, "sse");
    await expect.poll(() => page.locator("[data-connection]").count()).toBe(0);
    await inState(cards(page).nth(1), "asked");
    await cards(page).nth(1).getByRole("button", { name: "Approve" }).click();
    await inState(cards(page).nth(1), "done");
    await walletShows(page, before - 5);
    await expect.poll(() => cards(page).count()).toBe(2);
    expect(gemini.requests[2]?.wire).toBe("live");
    expect(gemini.requests.flatMap(({ pairingErrors }) => pairingErrors)).toEqual([]);
  });

  it("BIDI continues the conversation while a question waits, and the assistant reports the outcome", async () => {
    await visitor.visit(demo.url + pathOf("bidi", major));
    await say(page, "Send 4 dollars to Cleo");
    await inState(cards(page).first(), "asked");
    await say(page, "hello");
    await page.getByText(/Hello! I can/).waitFor({ timeout: waiting });
    await inState(cards(page).first(), "asked");
    expect(told()).toEqual([]);

    await approve().click();
    await inState(cards(page).first(), "done");
    await assistantSays(/Cleo/);
    await walletShows(page, before - 4);
    await expect.poll(() => told().length, { timeout: waiting }).toBe(1);
    expect(await emptyReplies()).toBe(0);
    await page.reload();
    await inState(cards(page).first(), "done");
    await expect.poll(() => cards(page).count()).toBe(1);
    expect(await demo.balance()).toBe(before - 4);
  });

  it("BIDI finds the location for a question in an older message", async () => {
    await visitor.visit(demo.url + pathOf("bidi", major));
    await visitor.context.grantPermissions(["geolocation"]);
    await visitor.context.setGeolocation({ latitude: 35.68, longitude: 139.77 });
    await say(page, "Where am I?");
    await inState(cards(page).first(), "asked");
    await say(page, "hello");
    await page.getByText(/Hello! I can/).waitFor({ timeout: waiting });
    await approve().click();
    await inState(cards(page).first(), "done");
    await assistantSays(/139\.77/);
    expect(told()).toHaveLength(1);
  });
});

describe("the page on one WebSocket", () => {
  beforeEach(async () => {
    await visitor.visit(proxy.url + pathOf("bidi", "ai@7"));
  });

  it("keeps the mode in the address and for the next visit, and the address takes precedence", async () => {
    expect(new URL(page.url()).searchParams.get("mode")).toBe("bidi");
    const other = await visitor.openTab(proxy.url);
    expect(new URL(other.url()).searchParams.get("mode")).toBe("sse");
    await other.getByRole("button", { name: "BIDI" }).focus();
    await other.keyboard.press("Enter");
    await connectionIs(other, "open");
    expect(new URL(other.url()).searchParams.get("mode")).toBe("bidi");
    const third = await visitor.openTab(proxy.url);
    await connectionIs(third, "open");
    const fourth = await visitor.openTab(`${proxy.url}/?mode=sse`);
    await expect.poll(() => fourth.locator("[data-connection]").count()).toBe(0);
  });

  it("stays in the chat when only the fragment changes, and can go back to an earlier chat", async () => {
    await say(page, "Send 13 dollars to Mei");
    await inState(cards(page).first(), "asked");
    await page.evaluate(() => (location.hash = "end"));
    await approve().click();
    await inState(cards(page).first(), "done");
    await page.getByRole("button", { name: "New chat" }).click();
    await cards(page).first().waitFor({ state: "detached", timeout: waiting });
    await page.goBack();
    await inState(cards(page).first(), "done");
    await connectionIs(page, "open");
    expect(await demo.balance()).toBe(before - 13);
  });

  it("closes its WebSocket when it leaves the chat or the mode", async () => {
    const newChat = () => page.getByRole("button", { name: "New chat" }).click();
    const [first] = await Promise.all([page.waitForEvent("websocket"), newChat()]);
    await connectionIs(page, "open");
    const [second] = await Promise.all([page.waitForEvent("websocket"), newChat()]);
    await expect.poll(() => first.isClosed(), { timeout: waiting }).toBe(true);
    await connectionIs(page, "open");
    expect(second.isClosed()).toBe(false);
    await choose(page, "sse");
    await expect.poll(() => second.isClosed(), { timeout: waiting }).toBe(true);
  });

  it("does not change the mode in the middle of a reply, and says why", async () => {
    const held = gate();
    gemini.reset([{ say: [text("one two "), pause(held.opened), text("three")] }]);
    await say(page, "count");
    await page.getByText("one two").waitFor({ timeout: waiting });
    const sse = page.getByRole("button", { name: "SSE" });
    await expect.poll(() => sse.getAttribute("title")).toMatch(/when the reply has ended/);
    await sse.click({ force: true });
    await connectionIs(page, "open");
    held.open();
    await page.getByText("one two three", { exact: true }).waitFor({ timeout: waiting });
    await choose(page, "sse");
  });

  it("shows both directions of the wire in the panel", async () => {
    await connectionIs(page, "open");
    await say(page, "Send 1 dollar to Dan");
    await inState(cards(page).first(), "asked");
    const lines = page.locator(".stream-list");
    await lines.getByText("waiting for an answer").waitFor({ timeout: waiting });
    await approve().click();
    await inState(cards(page).first(), "done");
    await lines.getByText("[DONE]").waitFor({ timeout: waiting });
    proxy.cut();
    const shown = async () =>
      (await lines.innerText()).split("\n").filter((words) => /^(→|×|⇄|waiting|\[)/.test(words));
    const connected = "⇄ WS /live connected";
    const story = ["→ message", "waiting for an answer", "[DONE]", "× WS /live lost", connected];
    // The page also attaches when it asks whether a reply goes on, before the cut or not.
    const read = async () => (await shown()).filter((words) => words !== "→ attach");
    await expect.poll(read, { timeout: waiting }).toEqual([connected, ...story]);
    await expect.poll(async () => (await shown()).at(-1), { timeout: waiting }).toBe("→ attach");
    expect((await shown()).slice(0, 2)).toEqual([connected, "→ attach"]);
  });

  it.each(["BLOCKING", "NON_BLOCKING"] as const)("shows the outcome at once after the click, %s", async (behavior) => {
    gemini.reset(demoRules, { live: { behavior } });
    await say(page, "Send 5 dollars to Eve");
    await inState(cards(page).first(), "asked");
    await replyEnds();
    await takesAnswer(cards(page).first());
    const took = await page.evaluate(
      () =>
        new Promise<number>((resolve) => {
          const buttons = [...document.querySelectorAll<HTMLButtonElement>("article[data-approval-id] button")];
          const start = performance.now();
          new MutationObserver(() => {
            if (document.querySelector('article[data-state="done"]')) resolve(performance.now() - start);
          }).observe(document.body, { subtree: true, childList: true, attributes: true });
          buttons.find((button) => button.textContent.startsWith("Approve"))?.click();
        }),
    );
    expect(took).toBeLessThan(1000);
    await assistantSays(/Eve/);
    expect(await demo.balance()).toBe(before - 5);
    expect(told()).toHaveLength(1);
    expect(gemini.live.errors).toEqual([]);
  });

  it("accepts an answer while the model speaks about something else", async () => {
    const held = gate();
    const rules: Rule[] = [{ when: /long/, say: [text("one two "), pause(held.opened), text("three")] }, ...demoRules];
    gemini.reset(rules);
    await say(page, "Send 6 dollars to Finn");
    await inState(cards(page).first(), "asked");
    await say(page, "a long story");
    await page.getByText("one two").waitFor({ timeout: waiting });
    await approve().click();
    await inState(cards(page).first(), "done");
    expect(await demo.balance()).toBe(before - 6);
    held.open();
    await page.getByText("one two three", { exact: true }).waitFor({ timeout: waiting });
    await page.reload();
    await inState(cards(page).first(), "done");
    // The loaded messages do not contain a turn that has not quite ended. The page resumes it a moment later.
    await page.getByText("one two three", { exact: true }).waitFor({ timeout: waiting });
    await expect.poll(() => page.getByText("one two three", { exact: true }).count()).toBe(1);
  });

  it("shows the outcome of a decision made elsewhere in the card, also in an older message", async () => {
    await say(page, "Send 7 dollars to Gus");
    await inState(cards(page).first(), "asked");
    await say(page, "hello");
    await page.getByText(/Hello! I can/).waitFor({ timeout: waiting });
    await replyEnds();
    await decideElsewhere();
    await inState(cards(page).first(), "done");
    await walletShows(page, before - 7);
    await assistantSays(/Gus/);
    expect(await emptyReplies()).toBe(0);
  });

  it("shows that outcome in the card also before the model is told, and draws no empty reply", async () => {
    await say(page, "Send 12 dollars to Lee");
    await inState(cards(page).first(), "asked");
    await say(page, "hello");
    await page.getByText(/Hello! I can/).waitFor({ timeout: waiting });
    await replyEnds();
    // After the restart there is no connection to the model until the user writes.
    await demo.stop("SIGKILL");
    await demo.start();
    await connectionIs(page, "open");
    await decideElsewhere();
    await inState(cards(page).first(), "done");
    await walletShows(page, before - 12);
    await page.reload();
    await inState(cards(page).first(), "done");
    expect(await emptyReplies()).toBe(0);
    await expect.poll(() => cards(page).count()).toBe(1);
    await say(page, "hello again");
    await page
      .getByText(/Hello! I can/)
      .nth(1)
      .waitFor({ timeout: waiting });
    expect(JSON.stringify(gemini.live.sessions.at(-1)?.messages)).toContain("Lee");
  });

  /** Gemini refuses the key, the page says so, and the next attempt will succeed. */
  async function sayToRefusingModel(): Promise<void> {
    const refuse = { code: 1008, reason: "API key not valid. Please pass a valid API key." };
    gemini.reset(demoRules, { live: { refuse } });
    await say(page, "hello");
    await page
      .getByRole("alert")
      .getByText(/API key not valid/)
      .waitFor({ timeout: 5000 });
    await connectionIs(page, "open");
    gemini.reset(demoRules);
  }

  it("tries a refused message again, also if the failed turn still seems to run", async () => {
    await sayToRefusingModel();
    // The error was shown a moment before the turn was over, so the turn seems to run until the model is called again.
    await page.route(/\/approvals\?/, async (route) => {
      const response = await route.fetch();
      const ledger = (await response.json()) as { running: boolean };
      const running = ledger.running || gemini.live.sessions.length === 0;
      await route.fulfill({ response, json: { ...ledger, running } });
    });
    await page.getByRole("button", { name: "Try again" }).first().click();
    await page.getByText(/Hello! I can/).waitFor({ timeout: waiting });
    await page.unrouteAll({ behavior: "wait" });
    await page.getByRole("alert").waitFor({ state: "hidden", timeout: waiting });
    expect(gemini.live.sessions).toHaveLength(1);
  });

  it("shows within seconds as a sentence that Gemini refuses the key", async () => {
    await sayToRefusingModel();
    await page.getByRole("button", { name: "Try again" }).first().click();
    await page.getByText(/Hello! I can/).waitFor({ timeout: waiting });
    await expect.poll(() => page.getByRole("alert").count()).toBe(0);
  });
});

describe("a WebSocket that is cut", () => {
  beforeEach(async () => {
    await visitor.visit(proxy.url + pathOf("bidi", "ai@7"));
  });

  it("in the middle of a sentence loses and repeats no word", async () => {
    const held = gate();
    gemini.reset([{ say: [text("one two three four "), pause(held.opened), text("five six seven")] }]);
    await say(page, "count");
    await page.getByText("one two three four").waitFor({ timeout: waiting });
    proxy.refuse(true);
    proxy.cut();
    await connectionIs(page, "reconnecting");
    held.open();
    await gemini.waitForEnd(1);
    proxy.refuse(false);
    await page.getByText("one two three four five six seven", { exact: true }).waitFor({ timeout: waiting });
    await connectionIs(page, "open");
    await expect.poll(() => page.getByText("one two").count()).toBe(1);
    expect(gemini.requests).toHaveLength(1);
  });

  it("while a question waits keeps the question open", async () => {
    await say(page, "Send 8 dollars to Hal");
    await inState(cards(page).first(), "asked");
    const shown = await page.locator('[data-role="assistant"]').allInnerTexts();
    proxy.refuse(true);
    proxy.cut();
    await connectionIs(page, "reconnecting");
    proxy.refuse(false);
    await connectionIs(page, "open");
    await inState(cards(page).first(), "asked");
    expect((await page.locator('[data-role="assistant"]').allInnerTexts()).length).toBe(shown.length);
    await approve().click();
    await inState(cards(page).first(), "done");
    expect(await demo.balance()).toBe(before - 8);
    await expect.poll(() => cards(page).count()).toBe(1);
  });

  it("between the click and its confirmation pays once", async () => {
    await say(page, "Send 9 dollars to Ida");
    await inState(cards(page).first(), "asked");
    await replyEnds();
    proxy.stall();
    await approve().click();
    await expect.poll(() => demo.balance(), { timeout: waiting }).toBe(before - 9);
    await inState(cards(page).first(), "sending");
    proxy.cut();
    proxy.release();
    await inState(cards(page).first(), "done");
    await assistantSays(/Ida/);
    expect(await demo.balance()).toBe(before - 9);
    expect(told()).toHaveLength(1);
  });

  it("after the tool ran continues with the model's text about it", async () => {
    const held = gate();
    gemini.reset([
      { when: ({ fresh }) => fresh, say: [call("process_payment", { amount: 10, recipient: "Jo", currency: "USD" })] },
      { say: [text("I have "), pause(held.opened), text("paid it.")] },
    ]);
    await say(page, "pay");
    await inState(cards(page).first(), "asked");
    await approve().click();
    await inState(cards(page).first(), "done");
    await page.getByText("I have").waitFor({ timeout: waiting });
    proxy.refuse(true);
    proxy.cut();
    await connectionIs(page, "reconnecting");
    held.open();
    proxy.refuse(false);
    await page.getByText("I have paid it.", { exact: true }).waitFor({ timeout: waiting });
    await expect.poll(() => page.getByText("I have").count()).toBe(1);
    expect(await demo.balance()).toBe(before - 10);
    expect(gemini.requests).toHaveLength(2);
  });

  it("because the server died shows the question again after the restart, and pays once", async () => {
    await say(page, "Send 11 dollars to Kim");
    await inState(cards(page).first(), "asked");
    await demo.stop("SIGKILL");
    await connectionIs(page, "reconnecting");
    await demo.start();
    await connectionIs(page, "open");
    await inState(cards(page).first(), "asked");
    await approve().dblclick();
    await inState(cards(page).first(), "done");
    await assistantSays(/Kim/);
    expect(await demo.balance()).toBe(before - 11);
    // The next live session was told once.
    const sentToModel = JSON.stringify(gemini.live.sessions.at(-1)?.messages);
    expect(sentToModel.match(/\[context, not from the user\] The earlier call process_payment/g)).toHaveLength(1);
  });
});
