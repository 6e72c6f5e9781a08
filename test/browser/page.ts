/** What a person does and sees on the demo page, as helpers for the browser tests. */
import type { BrowserContext, Locator, Page } from "playwright-core";
import { expect } from "vitest";
import { sharedBrowser } from "../fixtures/chromium.ts";

/** The timeout of a step in milliseconds, long enough for a busy machine. */
export const waiting = 10_000;

export type Mode = "sse" | "bidi";
export type Major = "ai@6" | "ai@7";

/** The page of a mode and a major version of AI SDK. */
export function pathOf(mode: Mode, major: Major): string {
  return `${major === "ai@6" ? "/v6/" : "/"}?mode=${mode}`;
}

/**
 * A person with a browser. All tests of a file share one window, because opening another takes longer than most tests.
 * Each test begins in a new chat with empty storage.
 */
export interface Visitor {
  readonly context: BrowserContext;
  /** The window that stays open. */
  readonly page: Page;
  /** Errors of the pages in this test, and requests to other hosts. */
  readonly problems: string[];
  /** Opens the page at the start of a test. */
  visit(url: string): Promise<void>;
  /** Opens another tab. */
  openTab(url: string): Promise<Page>;
  /** Clears everything at the end of a test, and throws if there were problems. */
  leave(): Promise<void>;
  close(): Promise<void>;
}

export async function openVisitor(): Promise<Visitor> {
  const browser = await sharedBrowser();
  const context = await browser.newContext({ ...look, viewport, locale: "en-GB" });
  const problems: string[] = [];
  context.on("page", (tab) => watch(tab, problems));
  const page = await context.newPage();
  const show = async (tab: Page, url: string) => {
    await tab.goto(url);
    await tab.getByRole("textbox").first().waitFor({ timeout: waiting });
  };
  return {
    context,
    page,
    problems,
    visit: (url) => show(page, url),
    async openTab(url) {
      const tab = await context.newPage();
      await show(tab, url);
      return tab;
    },
    async leave() {
      for (const tab of context.pages()) if (tab !== page) await tab.close();
      await context.clearPermissions();
      await page.setViewportSize(viewport);
      await page.emulateMedia(look);
      // A blank page has no storage. A test that failed before its visit is still there.
      if (page.url() !== "about:blank")
        await page.evaluate(() => {
          localStorage.clear();
          sessionStorage.clear();
        });
      // On a blank page nothing of this test runs on during the next one.
      await page.goto("about:blank");
      const found = problems.splice(0);
      if (found.length > 0) throw new Error(`The page had problems: ${found.join("; ")}`);
    },
    close: () => context.close(),
  };
}

const viewport = { width: 1280, height: 860 };
/** Without a graphics card, a moving dot keeps a good part of a processor busy. */
const look = { colorScheme: null, reducedMotion: "reduce" } as const;

function watch(page: Page, problems: string[]): void {
  const check = (address: string) => {
    const { protocol, hostname } = new URL(address);
    if (/^(http|ws)/.test(protocol) && hostname !== "127.0.0.1")
      problems.push(`The page sent a request to ${hostname}.`);
  };
  page.on("request", (request) => check(request.url()));
  page.on("websocket", (socket) => check(socket.url()));
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    // Failed connections are part of some tests, and the page shows them itself.
    const isNetwork = /Failed to load resource|WebSocket connection to .* failed/.test(message.text());
    if (message.type() === "error" && !isNetwork) problems.push(message.text());
  });
}

/** Writes a message and sends it. */
export async function say(page: Page, words: string): Promise<void> {
  const composer = page.locator("form textarea").last();
  await composer.fill(words);
  await composer.press("Enter");
}

/** Clicks at the same place again, as the second click of a double click. */
export async function clickAgain(page: Page): Promise<void> {
  await page.mouse.down({ clickCount: 2 });
  await page.mouse.up({ clickCount: 2 });
}

/** Every approval card of the page, oldest first. */
export const cards = (page: Page) => page.locator("article[data-approval-id]");
export type Card = ReturnType<typeof cards>;

/** Waits until a card is in this state. */
export async function inState(card: Card, state: string): Promise<void> {
  await card.and(card.page().locator(`[data-state="${state}"]`)).waitFor({ timeout: waiting });
}

/** Waits until a card accepts an answer. It does not in the first moment after it appears. */
export async function takesAnswer(card: Card): Promise<void> {
  await card.getByRole("button", { name: "Approve" }).click({ trial: true, timeout: waiting });
}

/** Clicks a button of a card in this state, unless the card leaves the state before: it may be decided elsewhere. */
export async function clickWhile(card: Card, state: string, button: Locator): Promise<void> {
  const inThisState = card.and(card.page().locator(`[data-state="${state}"]`));
  const read = async () => {
    if ((await inThisState.count()) === 0) return true;
    return button.click({ timeout: 1000 }).then(
      () => true,
      () => false,
    );
  };
  await expect.poll(read, { timeout: waiting }).toBe(true);
}

/** Waits until a card shows these words. */
export async function expectText(card: Card, words: string): Promise<void> {
  await card.getByText(words).first().waitFor({ timeout: waiting });
}

/** The id of the first card. */
export async function approvalId(page: Page): Promise<string> {
  return (await cards(page).first().getAttribute("data-approval-id")) ?? "";
}

/** Waits until the panel shows this balance. */
export async function walletShows(page: Page, balance: number): Promise<void> {
  await page
    .locator("aside")
    .getByText(`$${balance.toFixed(2)}`)
    .first()
    .waitFor({ timeout: waiting });
}

/** Waits until the header shows this state of the WebSocket. */
export async function connectionIs(page: Page, status: string): Promise<void> {
  await page.locator(`[data-connection="${status}"]`).waitFor({ timeout: waiting });
}

/** Chooses the mode in the header. */
export async function choose(page: Page, mode: Mode): Promise<void> {
  const button = page.getByRole("button", { name: mode.toUpperCase(), exact: true });
  await button.click();
  await page
    .getByRole("button", { name: mode.toUpperCase(), exact: true, pressed: true })
    .waitFor({ timeout: waiting });
}
