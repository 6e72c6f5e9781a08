/** What a person does and sees on the demo page, as steps of a story. */
import type { BrowserContext, Page } from "playwright-core";
import { launchBrowser } from "../fixtures/chromium.ts";

/** How long a step may take on a busy machine. */
export const waiting = 10_000;

export type Mode = "sse" | "bidi";
export type Major = "ai@6" | "ai@7";

/** The page of a mode and a major version of AI SDK. */
export function pathOf(mode: Mode, major: Major): string {
  return `${major === "ai@6" ? "/v6/" : "/"}?mode=${mode}`;
}

/**
 * Somebody with a browser. One window serves many stories, because starting another takes longer than most of them;
 * each story begins in a new chat, with nothing remembered.
 */
export interface Visitor {
  readonly context: BrowserContext;
  /** The window that stays open. */
  readonly page: Page;
  /** What pages complained about in this story, and whom they asked that they should not. */
  readonly problems: string[];
  /** Begins a story. */
  visit(url: string): Promise<void>;
  /** Another tab. */
  openTab(url: string): Promise<Page>;
  /** Ends a story: forgets, and throws when there were problems. */
  leave(): Promise<void>;
  close(): Promise<void>;
}

export async function openVisitor(): Promise<Visitor> {
  const browser = await launchBrowser();
  const context = await browser.newContext({ viewport, locale: "en-GB" });
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
      await page.emulateMedia({ colorScheme: null, reducedMotion: null });
      // A story that failed before its visit has nothing to forget, and a blank page no storage.
      if (page.url() !== "about:blank")
        await page.evaluate(() => {
          localStorage.clear();
          sessionStorage.clear();
        });
      // Here nothing of the page runs on into the next story.
      await page.goto("about:blank");
      const found = problems.splice(0);
      if (found.length > 0) throw new Error(`The page complained: ${found.join("; ")}`);
    },
    close: () => browser.close(),
  };
}

const viewport = { width: 1280, height: 860 };

function watch(page: Page, problems: string[]): void {
  const check = (address: string) => {
    const { protocol, hostname } = new URL(address);
    if (/^(http|ws)/.test(protocol) && hostname !== "127.0.0.1") problems.push(`The page asked ${hostname}.`);
  };
  page.on("request", (request) => check(request.url()));
  page.on("websocket", (socket) => check(socket.url()));
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    // What could not be reached, the page tells in words of its own.
    const isNetwork = /Failed to load resource|WebSocket connection to .* failed/.test(message.text());
    if (message.type() === "error" && !isNetwork) problems.push(message.text());
  });
}

/** Writes into the composer and sends it. */
export async function say(page: Page, words: string): Promise<void> {
  const composer = page.locator("form textarea").last();
  await composer.fill(words);
  await composer.press("Enter");
}

/** Clicks where the last click was, as the second half of a double click. */
export async function clickAgain(page: Page): Promise<void> {
  await page.mouse.down({ clickCount: 2 });
  await page.mouse.up({ clickCount: 2 });
}

/** Every approval card of the page, oldest first. */
export const cards = (page: Page) => page.locator("article[data-approval-id]");
export type Card = ReturnType<typeof cards>;

/** Waits until a card says so. */
export async function inState(card: Card, state: string): Promise<void> {
  await card.and(card.page().locator(`[data-state="${state}"]`)).waitFor({ timeout: waiting });
}

/** Waits until a card takes an answer, which it does not in the moment in which it appears. */
export async function takesAnswer(card: Card): Promise<void> {
  await card.getByRole("button", { name: "Approve" }).click({ trial: true, timeout: waiting });
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

/** Waits until the header says this of the socket. */
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
