/** The components of `adk-stream-protocol/react` on a page of their own, under a strict content security policy. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { ApprovalInfo } from "adk-stream-protocol/client";
import { toNodeHandler } from "adk-stream-protocol/node";
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { buildPage } from "../fixtures/build-page.ts";
import { sharedBrowser } from "../fixtures/chromium.ts";
import type { StageProps } from "../fixtures/components/stage.ts";
import { expectAccessible } from "./accessible.ts";
import { cards, clickAgain, inState, takesAnswer, waiting } from "./page.ts";

let server: Server;
let page: Page;
let url: string;
let problems: string[];
let requests: string[];

beforeAll(async () => {
  const policy = { "content-security-policy": "default-src 'self'" };
  const [reply, browser] = await Promise.all([buildPage("components", policy), sharedBrowser()]);
  server = createServer(toNodeHandler((request) => reply(request) ?? new Response(null, { status: 204 })));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  page = await (await browser.newContext({ locale: "en-GB" })).newPage();
  page.on("request", (request) => requests.push(request.url()));
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
});
afterAll(async () => {
  await page.context().close();
  server.closeAllConnections();
  server.close();
});
beforeEach(async () => {
  [problems, requests] = [[], []];
  await page.setViewportSize({ width: 900, height: 900 });
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce", forcedColors: null });
  await page.goto(url);
  await page.waitForFunction(() => "stage" in window);
  requests = [];
});
afterEach(async () => {
  const [violations, pwned] = await page.evaluate(() => [window.stage.violations, window.pwned] as const);
  // Nothing that a card shows runs, breaks the policy, or makes the browser ask for something.
  const found = [...problems, ...violations, ...requests, ...(pwned ? ["A script ran."] : [])];
  if (found.length > 0) throw new Error(`The page had problems: ${found.join("; ")}`);
});

const payment: ApprovalInfo = {
  approvalId: "a1",
  toolCallId: "c1",
  toolName: "process_payment",
  state: "asked",
  input: { amount: 50, recipient: "Hanako", currency: "USD" },
  card: {
    title: { en: "Send money", ja: "送金" },
    icon: "¥",
    fields: { amount: { format: "money", currency: "USD" } },
  },
};
const show = (next: Partial<StageProps>) => page.evaluate((props) => window.stage.show(props), next);
const showCard = (info: Partial<ApprovalInfo>, next: Partial<StageProps> = {}) =>
  show({ infos: [{ ...payment, ...info }], ...next });
const calls = () => page.evaluate(() => window.stage.calls);
const card = () => cards(page).first();
const button = (name: string | RegExp) => card().getByRole("button", { name });
const part = (name: string) => card().locator(`[data-part="${name}"]`);
const isFocused = (locator: Locator) => locator.evaluate((element) => element === document.activeElement);

describe("what a model can write is shown for what it is", () => {
  const hostile = {
    html: `<img src=x onerror="window.pwned=true"><script>window.pwned=true</script><b>Approved</b>`,
    markdown: "**Approved** [click](javascript:window.pwned=true) ![x](http://127.0.0.1:9/x.png)",
    link: "javascript:window.pwned=true",
    override: "Pay \u202E0005$ ot\u202C Hanako",
    isolate: "\u2066\u2067invoice\u2069",
    zeroWidth: "pay\u200Bpal\u200D.com\uFEFF",
    tags: "ok\u{E0041}\u{E0042}",
    cyrillic: "\u0440\u0430ypal.com",
    whole: "\u0455\u0441\u043E\u0440\u0435 pay",
    alone: "\u0430\u0440\u0440\u04CF\u0435",
    mathematical: "\u{1D5DB}anako",
    fullWidth: "\uFF30aypal",
    control: "a\u0000b\u0007c\u001B[31md",
    spaces: "a\u00A0b\u2800c\u3164d",
    separators: "a\u2028b\u2029c",
    newline: "Approved\n\n\n\nDenied",
    closing: "</dd></dl></article><h2>Approved</h2>",
  };

  it("in arguments, and in their names", async () => {
    const byName = Object.fromEntries(Object.values(hostile).map((text) => [text, "x"]));
    for (const input of [hostile, byName, { nested: [hostile] }]) {
      await showCard({ input });
      await inState(card(), "asked");
      const text = await card().innerText();
      for (const words of [hostile.html, hostile.markdown, hostile.link, hostile.closing])
        expect(text.replaceAll(/\s+/g, " ")).toContain(words);
      for (const mark of [
        "202E",
        "202C",
        "2066",
        "2067",
        "2069",
        "200B",
        "200D",
        "FEFF",
        "E0041",
        "0000",
        "0007",
        "001B",
      ])
        expect(text, mark).toContain(`U+${mark}`);
      for (const mark of ["00A0", "2800", "3164", "2028", "2029"]) expect(text, mark).toContain(`U+${mark}`);
      // None of these characters is in the page itself.
      expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Control}\p{Format}]/u);
      await expect
        .poll(() => card().locator('[data-kind="script"]').allInnerTexts())
        .toEqual([
          "mixes Latin + Cyrillic letters",
          "written in Cyrillic letters",
          "written in Cyrillic letters",
          "mixes Latin + mathematical letters",
          "mixes Latin + full-width letters",
        ]);
      await expect.poll(() => part("status").innerText()).toBe("Waiting for you");
      await expect.poll(() => card().locator("img, script, a, b, h2").allInnerTexts()).toEqual(["Send money"]);
    }
    expect(await calls()).toEqual([]);
  });

  it("in titles, hints, icons, tool names, reasons, results and errors", async () => {
    for (const text of Object.values(hostile)) {
      const texts = { title: text, hint: text, icon: text.slice(0, 8), fields: { amount: { label: text } } };
      await showCard({ toolName: text, card: texts });
      await inState(card(), "asked");
      await expect.poll(() => card().locator("img, script, a, b").count()).toBe(0);
      await expect.poll(() => part("status").innerText()).toBe("Waiting for you");
      await expect.poll(() => card().innerText()).not.toMatch(/[\u202A-\u202E\u2066\u2067\u200B]/u);
      const late = { reason: text, errorText: text, output: { result: text }, decidedBy: text, problem: text };
      for (const state of ["failed", "done", "denied", "unsent"] as const) {
        await showCard({ ...late, state, interim: text, hint: text, answer: { approved: false, reason: text } });
        await expect.poll(() => card().locator("img, script, a, b").count()).toBe(0);
      }
    }
    await showCard({ card: {}, hint: "Already approved by your manager. Click Approve." });
    await expect
      .poll(() => part("hint").innerText())
      .toBe("The assistant says: “Already approved by your manager. Click Approve.”");
  });

  it("also if it is very long, very wide or very deep", async () => {
    let deep: unknown = "bottom";
    for (let level = 0; level < 30; level += 1) deep = { inner: deep };
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`field_${index}`, index]));
    await showCard({ input: { line: "x".repeat(20_000), deep, many } });
    await inState(card(), "asked");
    const { width } = (await card().boundingBox()) ?? { width: 0 };
    expect(width).toBeLessThan(900);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(900);
    await button("Show all 20,000 characters").waitFor();
    await button("Show all 200 arguments").click();
    await expect.poll(() => card().getByText("field_199").count()).toBe(1);
    await button(/Show all .* characters/)
      .nth(1)
      .click();
    await expect.poll(() => card().getByText('"bottom"').count()).toBe(1);
  });

  it("also if it has piles of combining characters: they are not drawn over the other arguments", async () => {
    const rows = async (recipient: string) => {
      await showCard({ input: { amount: 50, recipient, until: "Friday" } });
      return Promise.all([part("field").nth(0).screenshot(), part("field").nth(2).screenshot()]);
    };
    const pile = `p${"\u0301".repeat(60)}ay`;
    expect(await rows(pile)).toEqual(await rows("pay"));
  });

  it("also on a phone: a note about letters is not cut off", async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await showCard({ input: { recipient: "\uff50\uff41\uff59 \u{1d429}\u{1d41a} \u0440\u0430y" } });
    const right = async (name: string) => {
      const { x = 0, width = 0 } = (await part(name).last().boundingBox()) ?? {};
      return x + width;
    };
    expect(await right("mark")).toBeLessThanOrEqual(await right("value"));
  });
});

describe("nothing is approved that was not seen or not meant", () => {
  it.each([false, true])(
    "a long value has to be opened and read to its end first (unstyled: %s)",
    async (isUnstyled) => {
      const letter = Array.from({ length: 300 }, (_, index) => `Line ${index}`).join("\n");
      await showCard({ input: { amount: 50, currency: "USD", letter } }, { isUnstyled });
      const approve = button(/^Approve/);
      await card().getByText("You can approve after you have seen the whole call.").waitFor();
      await page.waitForFunction(() => !document.querySelector("[data-part=deny][aria-disabled=true]"));
      await approve.evaluate((element) => (element as HTMLElement).click());
      await card().getByText("Line 299").waitFor();
      await expect.poll(() => approve.getAttribute("aria-disabled")).toBe("true");
      await approve.evaluate((element) => (element as HTMLElement).click());
      expect(await calls()).toEqual([]);
      await page.keyboard.press("End");
      if (isUnstyled) await part("long").locator("[data-part=seen]").last().scrollIntoViewIfNeeded();
      await approve.click();
      expect(await calls()).toEqual([{ id: "a1", approved: true }]);
    },
  );

  it("a click on a button whose card is out of sight shows the card first", async () => {
    await page.setViewportSize({ width: 900, height: 220 });
    await showCard({}, { above: 3 });
    await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
    await page.reload();
    await page.waitForFunction(() => "stage" in window);
    requests = [];
    await showCard({}, { above: 40 });
    await page.waitForFunction(() => !document.querySelector("[data-part=approve][aria-disabled=true]"));
    await button(/^Approve/).evaluate((element) => (element as HTMLElement).click());
    expect(await calls()).toEqual([]);
    await expect.poll(() => part("sum").evaluate((element) => element.getBoundingClientRect().top < 220)).toBe(true);
  });

  it("ten fast clicks are one answer, and clicks in the first moment are none", async () => {
    await showCard({});
    const { x, y, width, height } = (await button(/^Approve/).boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    const [left, top] = [x + width / 2, y + height / 2];
    await page.mouse.click(left, top);
    expect(await calls()).toEqual([]);
    await takesAnswer(card());
    for (let click = 0; click < 10; click += 1) await page.mouse.click(left, top, { clickCount: 1 });
    await clickAgain(page);
    await button(/^Deny/).click();
    expect(await calls()).toEqual([{ id: "a1", approved: true }]);
    await showCard({ state: "sending", answer: { approved: true } });
    await expect.poll(() => button(/^(Approve|Deny)/).count()).toBe(0);
    await card().getByText("Your Approve is not confirmed.").waitFor();
  });

  it("a button that moves under the resting pointer is not pressed", async () => {
    await showCard({}, { above: 3 });
    const there = (await button(/^Approve/).boundingBox()) ?? { x: 0, y: 0 };
    await showCard({}, { above: 2 });
    await takesAnswer(card());
    // The pointer rests where the button will be in a moment.
    await page.mouse.move(there.x + 20, there.y + 12);
    await showCard({}, { above: 3 });
    await page.mouse.down();
    await page.mouse.up();
    expect(await calls()).toEqual([]);
    // The person moves the pointer and presses the button that is there now.
    await page.mouse.move(there.x + 22, there.y + 14);
    await page.mouse.down();
    await page.mouse.up();
    expect(await calls()).toEqual([{ id: "a1", approved: true }]);
  });
});

describe("the keyboard and screen readers", () => {
  it("reach everything, and nothing takes the focus by itself", async () => {
    await showCard({ hint: "For lunch" });
    await inState(card(), "asked");
    await expect.poll(() => isFocused(page.locator("body"))).toBe(true);
    await page.waitForFunction(() => !document.querySelector("[aria-disabled=true]"));
    const reason = card().getByRole("textbox", { name: "Reason", exact: true });
    await page.keyboard.press("Tab");
    await expect.poll(() => isFocused(reason)).toBe(true);
    await page.keyboard.type("  not today ");
    await page.keyboard.press("Enter");
    expect(await calls()).toEqual([]);
    await page.keyboard.press("Tab");
    await expect.poll(() => isFocused(button("Deny $50.00 → Hanako"))).toBe(true);
    await page.keyboard.press("Tab");
    await expect.poll(() => isFocused(button("Approve $50.00 → Hanako"))).toBe(true);
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    expect(await calls()).toEqual([{ id: "a1", approved: false, reason: "not today" }]);
    await expect.poll(() => isFocused(card())).toBe(true);
    await showCard({ state: "denied", reason: "not today" });
    await page.getByRole("log").getByText("Send money $50.00 → Hanako: Denied.").waitFor({ state: "attached" });
  });

  it("keep a reason that was being written when the question was decided elsewhere", async () => {
    await showCard({});
    await takesAnswer(card());
    await card().getByRole("textbox", { name: "Reason" }).fill("because");
    await showCard({ state: "denied", decidedElsewhere: true });
    await card().getByText("This reason was not sent: because").waitFor();
    await card().getByText("Already denied on another device.").waitFor();
    await expect.poll(() => isFocused(card())).toBe(true);
  });

  it("say what became of a call, also if the server refused it at first", async () => {
    await showCard({ state: "unknown" }, { refuse: "The server cannot be reached." });
    const found = card().getByRole("textbox", { name: "What came of it" });
    await found.fill('{"version":7}');
    await page.keyboard.press("Tab");
    await page.waitForFunction(() => !document.querySelector("[aria-disabled=true]"));
    await expect.poll(() => isFocused(button("It happened"))).toBe(true);
    await page.keyboard.press("Enter");
    await card().getByRole("alert").getByText("The server cannot be reached.").waitFor();
    await found.fill("");
    await button("It did not happen").click();
    expect(await calls()).toEqual([
      { id: "a1", happened: true, outcome: { version: 7 } },
      { id: "a1", happened: false },
    ]);
  });

  it("say why an answer was refused, and keep its reason", async () => {
    await showCard({}, { refuse: "You may not decide about this call." });
    await takesAnswer(card());
    await card().getByRole("textbox", { name: "Reason" }).fill("because");
    await button(/^Deny/).click();
    await card().getByRole("alert").getByText("You may not decide about this call.").waitFor();
    await expect.poll(() => card().getByRole("textbox", { name: "Reason" }).inputValue()).toBe("because");
  });
});

describe("the components", () => {
  const now = Date.now();
  const every: ApprovalInfo[] = (
    ["asked", "sending", "unsent", "approved", "running", "waiting", "done", "failed", "denied", "expired"] as const
  ).map((state, index) => ({
    ...payment,
    approvalId: `a${index}`,
    state,
    createdAt: now - 60_000 + index,
    expiresAt: now + 240_000,
    chatId: `chat ${index}`,
    reason: state === "denied" ? "Too much" : "",
    problem: "The server cannot be reached.",
    answer: { approved: index % 2 === 0 },
    ...(state === "asked" && { card: { ...payment.card, tone: "danger" as const, hint: "It cannot be taken back." } }),
    ...(state === "done" && { output: { transaction_id: "TX-1" } }),
    ...(state === "failed" && { errorText: "The bank refused." }),
  }));

  it.each(["en", "ja"])("have no accessibility violations (%s)", async (language) => {
    const connection = { status: "reconnecting", retryAt: now + 60_000 } as const;
    await show({ infos: [...every, { ...payment, approvalId: "u", state: "unknown" }], language, connection });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await expectAccessible(page, { targetSize: true, where: colorScheme });
    }
    await page.setViewportSize({ width: 360, height: 740 });
    await expectAccessible(page, { targetSize: true, where: "phone" });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
  });

  it("list all questions of a person with links to their chats, and keep those that were answered here", async () => {
    await show({ infos: every.toReversed(), isInbox: true });
    await expect.poll(() => cards(page).count()).toBe(3);
    await expect.poll(() => page.getByRole("heading", { name: "Waiting for you 3" }).count()).toBe(1);
    await expect
      .poll(() => page.getByRole("link", { name: "Open the chat" }).first().getAttribute("href"))
      .toBe("/chats/chat%200");
    await inState(card(), "asked");
    await show({ infos: every.map((info) => (info.approvalId === "a0" ? { ...info, state: "denied" } : info)) });
    await inState(card(), "denied");
    await page.getByRole("heading", { name: "Waiting for you 2" }).waitFor();
    await expectAccessible(page);
    await show({ infos: [] });
    await page.getByText("Nothing is waiting for you.").waitFor();
  });

  it("draw the first of a thousand questions at once, and the others as a person scrolls", async () => {
    const infos = Array.from({ length: 1000 }, (_, index) => ({
      ...payment,
      approvalId: `m${index}`,
      input: { amount: 50, recipient: `Person ${index}`, currency: "USD" },
      createdAt: now + index,
    }));
    await show({ infos: infos.slice(0, 60), isInbox: true });
    await page.getByRole("heading", { name: "Waiting for you 60" }).waitFor();
    await expect.poll(() => cards(page).count()).toBe(20);
    await page.getByRole("button", { name: "Show more (40 left)" }).focus();
    await expect.poll(() => cards(page).count()).toBe(40);
    await page.keyboard.press("Enter");
    await expect.poll(() => cards(page).count()).toBe(60);
    await expect.poll(() => page.getByRole("button", { name: /^Show more/ }).count()).toBe(0);

    await show({ infos });
    await page.getByRole("log").getByText("Waiting for you 1000").waitFor({ state: "attached" });
    await expect.poll(() => cards(page).count()).toBe(60);
    for (const drawn of [80, 100]) {
      // The browser scrolls to the end of what it has drawn, which is seen two frames later.
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      await page.keyboard.press("End");
      await expect.poll(() => cards(page).count()).toBe(drawn);
    }
    await page.getByRole("button", { name: "Show more (900 left)" }).waitFor();
    await button(/^Deny/).scrollIntoViewIfNeeded();
    await takesAnswer(card());
    await button(/^Deny/).click();
    expect(await calls()).toEqual([{ id: "m0", approved: false }]);
  });

  it("share their clocks: a page with many cards does no more than one with a few", async () => {
    await page.evaluate(() => {
      const { setInterval } = window;
      const count = (...given: Parameters<typeof setInterval>) => {
        document.documentElement.dataset["intervals"] += "|";
        return setInterval(...given);
      };
      document.documentElement.dataset["intervals"] = "";
      Object.assign(window, { setInterval: count });
    });
    const expiresAt = Date.now() + 600_000;
    const many = Array.from({ length: 100 }, (_, index) => ({ ...payment, approvalId: `m${index}`, expiresAt }));
    await show({ infos: many });
    await expect.poll(() => part("countdown").innerText()).toMatch(/^expires in \d+:\d\d$/);
    expect(await page.evaluate(() => document.documentElement.dataset["intervals"])).toBe("||");
  });

  it("say when the connection is tried again, and do so at once", async () => {
    await show({ connection: { status: "reconnecting", retryAt: Date.now() + 60_000 } });
    await page.getByText(/^Reconnecting in \d+ s$/).waitFor({ timeout: waiting });
    await page.getByRole("button", { name: "Retry now" }).click();
    expect(await calls()).toEqual([{ id: "", retry: true }]);
    await show({ connection: { status: "signed-out" } });
    await page.getByText("Signed out").waitFor();
    await show({ connection: { status: "open" } });
    await page.getByRole("log").getByText("The connection is back.").waitFor({ state: "attached" });
    await expect.poll(() => page.getByText("Connected").count()).toBe(0);
  });
});
