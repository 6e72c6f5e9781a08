/** What a person does on the demo page, in a real browser, with `useChat`, in both modes. */
import {
  call,
  gate,
  pause,
  type Rule,
  type ScriptedGemini,
  startScriptedGemini,
  text,
} from "adk-stream-protocol/testing";
import type { Page, Request } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { demoRules } from "../../demo/script/demo-rules.ts";
import { type DemoServer, startDemo } from "../fixtures/demo-server.ts";
import { expectAccessibleIn } from "./accessible.ts";
import {
  approvalId,
  cards,
  clickAgain,
  clickWhile,
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
  walletShows,
} from "./page.ts";

export interface StoryOptions {
  mode: Mode;
  major: Major;
  /** Run only the most important stories. The others run in another mode and on the other major. */
  core?: boolean;
}

/** Runs the stories in one mode, on one major version of AI SDK. */
export function tellStories({ mode, major, core = false }: StoryOptions): void {
  const path = pathOf(mode, major);
  const itAlso = core ? undefined : it;
  const itOverSse = mode === "sse" ? itAlso : undefined;

  describe(`the page in ${mode.toUpperCase()} with useChat of ${major}`, () => {
    let gemini: ScriptedGemini;
    let demo: DemoServer;
    let visitor: Visitor;
    let page: Page;

    beforeAll(async () => {
      gemini = await startScriptedGemini({ rules: demoRules });
      [visitor, demo] = await Promise.all([openVisitor(), startDemo({ GOOGLE_GEMINI_BASE_URL: gemini.url })]);
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
      await visitor.visit(demo.url + path);
    });
    afterEach(() => visitor.leave());

    it("pays once after Approve, shows the new balance, and the assistant says so", async () => {
      const before = await demo.balance();
      const chatRequests: string[] = [];
      const note = (request: Request) => {
        if (new URL(request.url()).pathname.startsWith("/stream") && request.method() === "POST")
          chatRequests.push(request.url());
      };
      page.on("request", note);
      await say(page, "花子さんに50ドル送金してください");
      const card = cards(page).first();
      await inState(card, "asked");
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
      // The answer goes beside the stream: the message is the only request of the chat.
      await page.getByRole("button", { name: "Send", exact: true }).waitFor({ timeout: waiting });
      expect(chatRequests).toEqual(mode === "sse" ? [`${demo.url}/stream`] : []);
      page.off("request", note);
    });

    it("pays nothing after Deny, and sends the reason to the model", async () => {
      const before = await demo.balance();
      await say(page, "Send 50 dollars to Hanako");
      const card = cards(page).first();
      await inState(card, "asked");
      await card.getByRole("textbox", { name: "Reason", exact: true }).fill("not her");
      await card.getByRole("button", { name: "Deny" }).click();
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
      await inState(bob, "asked");
      await bob.getByRole("button", { name: "Deny" }).click();
      await alice.getByRole("button", { name: "Approve" }).click();
      await inState(alice, "done");
      await inState(bob, "denied");
      await walletShows(page, before - 30);
      // Cards and wallet show the outcome before the model is told.
      await expect.poll(() => gemini.requests.length, { timeout: waiting }).toBe(2);
    });

    itAlso?.("can be used with the keyboard alone", async () => {
      const before = await demo.balance();
      await say(page, "Send 1 dollar to Kei");
      const card = cards(page).first();
      await inState(card, "asked");
      expect(
        await card.getByRole("button", { name: "Approve" }).evaluate((button) => button === document.activeElement),
      ).toBe(false);
      await takesAnswer(card);
      await card.getByRole("button", { name: "Approve" }).focus();
      await page.keyboard.press("Space");
      await inState(card, "done");
      expect(await demo.balance()).toBe(before - 1);
    });

    it("shows the same card after a reload while it waits, and pays once from there", async () => {
      const before = await demo.balance();
      await say(page, "Send 2 dollars to Ann");
      await inState(cards(page).first(), "asked");
      const id = await approvalId(page);
      await page.reload();
      await inState(cards(page).first(), "asked");
      expect(await approvalId(page)).toBe(id);
      await cards(page).first().getByRole("button", { name: "Approve" }).click();
      await inState(cards(page).first(), "done");
      expect(await demo.balance()).toBe(before - 2);
      await expect.poll(() => page.locator("article[data-approval-id]").count()).toBe(1);
    });

    it("sends a message that was written during a reply once, when the reply has ended", async () => {
      const held = gate();
      gemini.reset([{ when: /count/, say: [text("one two "), pause(held.opened), text("three")] }, ...demoRules]);
      await say(page, "count");
      await page.getByText("one two").waitFor({ timeout: waiting });
      await say(page, "hello");
      await page.getByText("This message is sent when the reply has ended").waitFor({ timeout: waiting });
      await page.keyboard.press("Escape");
      await page
        .getByText("This message is sent when the reply has ended")
        .waitFor({ state: "detached", timeout: waiting });
      await page.keyboard.press("Enter");
      // The person presses Send exactly when the reply ends.
      await page.evaluate(() => {
        new MutationObserver((_, observer) => {
          const send = document.querySelector<HTMLButtonElement>(".composer button[type=submit]");
          if (!send) return;
          observer.disconnect();
          send.click();
        }).observe(document.body, { subtree: true, childList: true, attributes: true });
      });
      held.open();
      await page.getByText("one two three", { exact: true }).waitFor({ timeout: waiting });
      await page.getByText(/What shall I do/).waitFor({ timeout: waiting });
      await page.getByRole("button", { name: "Send", exact: true }).waitFor({ timeout: waiting });
      await expect.poll(() => page.locator("form textarea").last().inputValue()).toBe("");
      await expect.poll(() => page.locator('[data-role="user"]').count()).toBe(2);
      expect(gemini.requests).toHaveLength(2);
    });

    itAlso?.("sends no draft with a click that was meant to stop the reply", async () => {
      const stop = page.getByRole("button", { name: "Stop", exact: true });
      const send = page.getByRole("button", { name: "Send", exact: true });
      const draft = page.locator("form textarea").last();
      const [first, second] = [gate(), gate()];
      gemini.reset([
        { when: /count up/, say: [text("one "), pause(first.opened), text("two")] },
        { when: /count down/, say: [text("two "), pause(second.opened), text("one")] },
      ]);

      await say(page, "count up");
      await page.locator(".text").getByText("one", { exact: true }).waitFor({ timeout: waiting });
      await draft.fill("a draft");
      await stop.hover();
      await page.mouse.down();
      first.open();
      await send.waitFor({ timeout: waiting });
      await page.mouse.up();
      await expect.poll(() => draft.inputValue()).toBe("a draft");

      await say(page, "count down");
      await page.locator(".text").getByText("two", { exact: true }).waitFor({ timeout: waiting });
      await draft.fill("a draft");
      await stop.click();
      await send.waitFor({ timeout: waiting });
      await clickAgain(page);
      await expect.poll(() => draft.inputValue()).toBe("a draft");
      await expect.poll(() => page.locator('[data-role="user"]').count()).toBe(2);
      second.open();
    });

    itAlso?.("sends one message after a double click on a suggestion, however fast the reply is", async () => {
      await say(page, "hello");
      await page.getByText(/What shall I do/).waitFor({ timeout: waiting });
      await page.getByRole("button", { name: "Send", exact: true }).waitFor({ timeout: waiting });
      const before = await demo.balance();
      const chip = page.getByRole("button", { name: "Send 50 dollars to Hanako" });
      // The second click may also hit a card that appears under the pointer.
      await page.evaluate(() => {
        new MutationObserver((_, observer) => {
          const buttons = document.querySelectorAll<HTMLButtonElement>(
            "article[data-approval-id] [data-part=actions] button",
          );
          if (buttons.length === 0) return;
          observer.disconnect();
          for (const button of buttons) button.click();
        }).observe(document.body, { subtree: true, childList: true });
      });
      await chip.click();
      await inState(cards(page).first(), "asked");
      await page.getByRole("button", { name: "Send", exact: true }).waitFor({ timeout: waiting });
      await clickAgain(page);
      await expect.poll(() => page.locator('[data-role="user"]').count()).toBe(2);
      await takesAnswer(cards(page).first());
      await inState(cards(page).first(), "asked");
      expect(await demo.balance()).toBe(before);
    });

    itAlso?.("does not cancel an unseen question with a message that was written during the reply", async () => {
      const held = gate();
      gemini.reset([
        {
          when: /first/,
          say: [text("let me see"), pause(held.opened), call("process_payment", { amount: 8, recipient: "Kim" })],
        },
        ...demoRules,
      ]);
      await say(page, "first");
      await page.locator(".text").getByText("let me see").waitFor({ timeout: waiting });
      await say(page, "hello");
      held.open();
      const card = cards(page).first();
      await inState(card, "asked");
      if (mode === "sse") {
        await page.getByText("withdraws the request").waitFor({ timeout: waiting });
        await expect.poll(() => page.locator("form textarea").last().inputValue()).toBe("hello");
      } else await page.getByText(/Hello! I can/).waitFor({ timeout: waiting });
      await inState(card, "asked");
    });

    it("resumes in the middle of a sentence without losing or repeating a word", async () => {
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
      await expect.poll(() => page.getByText("one two").count()).toBe(1);
    });

    itAlso?.("shows the same state in two tabs, and one payment when both approve", async () => {
      const before = await demo.balance();
      await say(page, "Send 3 dollars to Tom");
      await inState(cards(page).first(), "asked");
      const other = await visitor.openTab(page.url());
      await inState(cards(other).first(), "asked");
      await Promise.all(
        [page, other].map((tab) => {
          const card = cards(tab).first();
          // One tab may show the other's answer before its own click. Then it has no button any more.
          return clickWhile(card, "asked", card.getByRole("button", { name: "Approve" }));
        }),
      );
      for (const tab of [page, other]) {
        await inState(cards(tab).first(), "done");
        await walletShows(tab, before - 3);
      }
      expect(await demo.balance()).toBe(before - 3);
    });

    itAlso?.("shows in one tab what was decided in the other", async () => {
      const before = await demo.balance();
      await say(page, "Send 4 dollars to Tom");
      await inState(cards(page).first(), "asked");
      const other = await visitor.openTab(page.url());
      await inState(cards(other).first(), "asked");
      await cards(other).first().getByRole("button", { name: "Deny" }).click();
      await inState(cards(page).first(), "denied");
      expect(await demo.balance()).toBe(before);
    });

    itOverSse?.("says that another answer counted if this tab's came second", async () => {
      await say(page, "Send 5 dollars to Uma");
      const card = cards(page).first();
      await inState(card, "asked");
      const { opened, open } = gate();
      await page.route("**/approvals/*", async (route) => {
        await opened;
        await route.continue();
      });
      await card.getByRole("button", { name: "Deny" }).click();
      await inState(card, "sending");
      const response = await fetch(`${demo.url}/approvals/${await approvalId(page)}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ approved: true }),
      });
      expect(response.status).toBe(200);
      open();
      await inState(card, "done");
      await expectText(card, "Already approved on another device.");
      await page.unroute("**/approvals/*");
    });

    itAlso?.("shows an answer that was given outside the page", async () => {
      const before = await demo.balance();
      await say(page, "Send 5 dollars to Tom");
      await inState(cards(page).first(), "asked");
      const response = await fetch(`${demo.url}/approvals/${await approvalId(page)}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ approved: true }),
      });
      expect(response.status).toBe(200);
      await inState(cards(page).first(), "done");
      await walletShows(page, before - 5);
    });

    itAlso?.("keeps the card when the server is killed while it waits, and pays once after the restart", async () => {
      const before = await demo.balance();
      await say(page, "Send 6 dollars to Yui");
      await inState(cards(page).first(), "asked");
      const id = await approvalId(page);
      await demo.stop("SIGKILL");
      await demo.start();
      // In BIDI the page reconnects by itself.
      if (mode === "sse") await page.reload();
      else await connectionIs(page, "open");
      await inState(cards(page).first(), "asked");
      expect(await approvalId(page)).toBe(id);
      await cards(page).first().getByRole("button", { name: "Approve" }).click();
      await inState(cards(page).first(), "done");
      expect(await demo.balance()).toBe(before - 6);
    });

    itAlso?.("delivers an answer that was given while the server was down, once", async () => {
      const before = await demo.balance();
      await say(page, "Send 7 dollars to Yui");
      const card = cards(page).first();
      await inState(card, "asked");
      await demo.stop("SIGKILL");
      await card.getByRole("button", { name: "Approve" }).click();
      await inState(card, "sending");
      await page.getByRole("alert").getByText("The server cannot be reached.").waitFor({ timeout: waiting });
      if (mode === "bidi") await connectionIs(page, "reconnecting");
      // A message written now waits for the answer, and would withdraw the question in SSE if it were sent before.
      await say(page, "hello");
      await page.getByText("This message is sent when the reply has ended").waitFor({ timeout: waiting });
      await inState(card, "sending");
      // When the server is back, the page sends both by itself.
      await demo.start();
      await inState(card, "done");
      await page.getByText(/Hello! I can/).waitFor({ timeout: waiting });
      await expect.poll(() => page.locator('[data-role="user"]').count()).toBe(2);
      await expect.poll(() => page.locator(".notice").count()).toBe(0);
      expect(await demo.balance()).toBe(before - 7);
    });

    itAlso?.("plays music in the page and tells the model", async () => {
      const held = gate();
      const play = call("change_bgm", { track: 2 });
      gemini.reset([{ when: /Play/, say: [text("let me see"), pause(held.opened), play] }, ...demoRules]);
      await say(page, "Play track 2");
      await page.locator(".text").getByText("let me see").waitFor({ timeout: waiting });
      // This message is sent after the tool's result. In SSE it would cancel the call if it were sent before.
      await say(page, "hello");
      held.open();
      await page
        .getByText(/track 2/i)
        .last()
        .waitFor({ timeout: waiting });
      await page.getByText(/Hello! I can/).waitFor({ timeout: waiting });
      const told = JSON.stringify(gemini.requests.map(({ responses }) => responses));
      expect(told).toContain('"track":2');
      expect(told).not.toMatch(/cancel/i);
      expect(gemini.requests).toHaveLength(3);
    });

    itAlso?.("finds the location only after a yes", async () => {
      await visitor.context.grantPermissions(["geolocation"]);
      await visitor.context.setGeolocation({ latitude: 35.68, longitude: 139.77 });
      await say(page, "Where am I?");
      const card = cards(page).first();
      await inState(card, "asked");
      expect(gemini.requests).toHaveLength(1);
      await card.getByRole("button", { name: "Approve" }).click();
      await inState(card, "done");
      await expect
        .poll(() => JSON.stringify(gemini.requests.at(-1)?.responses), { timeout: waiting })
        .toContain("139.77");
      expect(gemini.requests).toHaveLength(2);
    });

    itAlso?.("never asks the browser for the location after a no", async () => {
      await visitor.context.grantPermissions(["geolocation"]);
      await page.evaluate(() => {
        const found = navigator.geolocation.getCurrentPosition.bind(navigator.geolocation);
        navigator.geolocation.getCurrentPosition = (...args) => {
          document.body.dataset["looked"] = "yes";
          found(...args);
        };
      });
      await say(page, "Where am I?");
      const card = cards(page).first();
      await inState(card, "asked");
      await card.getByRole("button", { name: "Deny" }).click();
      await inState(card, "denied");
      await expect.poll(() => gemini.requests.length, { timeout: waiting }).toBe(2);
      expect(await page.evaluate(() => document.body.dataset["looked"])).toBeUndefined();
    });

    itAlso?.("stops a reply in the middle and keeps its text", async () => {
      const held = gate();
      gemini.reset([{ say: [text("one two three "), pause(held.opened), text("four")] }, ...demoRules]);
      await say(page, "count");
      await page.getByText("one two three").waitFor({ timeout: waiting });
      await page.getByRole("button", { name: "Stop" }).click();
      await page.getByRole("button", { name: "Send", exact: true }).waitFor({ timeout: waiting });
      // The model is really stopped.
      expect(await gemini.waitForEnd(1)).toBe("disconnected");
      held.open();
      await page.reload();
      await page.getByText("one two three", { exact: true }).waitFor({ timeout: waiting });
    });

    itAlso?.("shows that a payment above the balance failed", async () => {
      const before = await demo.balance();
      await say(page, "Send 5000 dollars to Max");
      await inState(cards(page).first(), "asked");
      await cards(page).first().getByRole("button", { name: "Approve" }).click();
      await inState(cards(page).first(), "failed");
      expect(await demo.balance()).toBe(before);
    });

    itAlso?.(
      `${mode === "sse" ? "cancels" : "keeps"} a waiting call when the person writes a new message, and says so`,
      async () => {
        const before = await demo.balance();
        await say(page, "Send 8 dollars to Max");
        const card = cards(page).first();
        await inState(card, "asked");
        await page.locator("form textarea").last().fill("h");
        await page.getByText(mode === "sse" ? /withdraws the request/ : /stays open/).waitFor({ timeout: waiting });
        await say(page, "hello");
        await page.getByText(/Hello! I can/).waitFor({ timeout: waiting });
        await inState(card, mode === "sse" ? "cancelled" : "asked");
        expect(await demo.balance()).toBe(before);
        expect(gemini.requests.flatMap(({ pairingErrors }) => pairingErrors)).toEqual([]);
      },
    );

    itAlso?.("shows hostile arguments in full as text, and runs none of them", async () => {
      const hostile = "<img src=x onerror=alert(1)>\u202Egnp.exe\u200B";
      gemini.reset([
        { when: ({ fresh }) => fresh, say: [call("process_payment", { amount: 1, recipient: hostile })] },
        { say: [text("ok")] },
      ]);
      page.once("dialog", () => visitor.problems.push("a script ran"));
      await say(page, "go");
      const card = cards(page).first();
      await inState(card, "asked");
      await expectText(card, "<img src=x onerror=alert(1)>");
      await expectText(card, "U+202E");
      await expectText(card, "U+200B");
      await expect.poll(() => page.locator("article img").count()).toBe(0);
    });

    itAlso?.("shows a model error as a sentence", async () => {
      gemini.reset([{ say: [{ kind: "fail", code: 429, message: "quota used up" }] }]);
      await say(page, "hello");
      await page
        .getByRole("alert")
        .getByText(/429|quota/i)
        .waitFor({ timeout: waiting });
      expect(gemini.requests).toHaveLength(1);
    });

    itAlso?.("has no accessibility violations, light on a laptop and dark on a phone", async () => {
      await say(page, "Send 30 dollars to Alice and 40 to Bob");
      await inState(cards(page).nth(1), "asked");
      await cards(page).nth(0).getByRole("button", { name: "Deny" }).click();
      await inState(cards(page).nth(0), "denied");
      await expectAccessibleIn(page, [
        { colorScheme: "light", width: 1280, height: 860 },
        { colorScheme: "dark", width: 390, height: 844 },
      ]);
    });

    itAlso?.("shows that an unanswered question expires by itself", async () => {
      const shortLived = await startDemo({ GOOGLE_GEMINI_BASE_URL: gemini.url, APPROVAL_TTL_MS: "1500" });
      try {
        const tab = await visitor.openTab(shortLived.url + path);
        await say(tab, "Send 9 dollars to Mia");
        const card = cards(tab).first();
        // On a busy machine the question may expire before the page shows it as waiting.
        await inState(card, "expired");
        await expect.poll(() => card.getByRole("button", { name: "Approve" }).count()).toBe(0);
        expect(await shortLived.balance()).toBe(1000);
      } finally {
        await shortLived.close();
      }
    });
  });
}
