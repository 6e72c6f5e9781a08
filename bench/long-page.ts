/**
 * The demo's page with a chat of 10,000 messages, in a real Chromium: opening it, scrolling back through all messages page by
 * page, scrolling down again, and going to the beginning at once. A jump is how far the message that the reader sees has
 * moved, in pixels, after older messages came in above it. Work is the time that the page's thread was at work, which other
 * processes do not affect.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { sqliteStore } from "adk-stream-protocol/stores/sqlite";
import type { UIMessage } from "ai";
import type { Page } from "playwright-core";
import { launchBrowser } from "../test/fixtures/chromium.ts";
import { startDemo } from "../test/fixtures/demo-server.ts";
import { verdict } from "./figures.ts";

const turns = 5000;
const [maxOpenMs, maxJumpPx, maxGrowth] = [1000, 2, 1.5];
/** How many pages are measured together, to compare the first with the last. */
const pagesPerPart = 20;

/** Measures and prints. With `BENCH_SCREENS=directory` it writes pictures of the beginning of the chat. */
export async function longPage(): Promise<void> {
  execFileSync("npm", ["run", "-s", "build"], { stdio: "ignore" });
  const demo = await startDemo();
  const browser = await launchBrowser();
  try {
    await demo.stop("SIGTERM");
    await writeLongChat(join(demo.directory, "bridge.db"));
    await demo.start();
    const page = await browser.newPage();
    const address = `${demo.url}/?mode=sse&chat=long`;
    const open = async () => {
      const start = performance.now();
      await page.goto(address);
      await page.getByText(`Question ${turns - 1}`).waitFor();
      return performance.now() - start;
    };
    await open();
    const openMs = Math.min(await open(), await open(), await open());
    const work = await watchWork(page);

    const parts: number[] = [];
    const jumps: number[] = [];
    for (let isMore = true; isMore;) {
      const part = await scrollBack(page, pagesPerPart);
      isMore = part.length === pagesPerPart;
      jumps.push(...part);
      if (isMore) parts.push((await work()) / pagesPerPart);
    }
    const first = await firstWords(page);
    const elements = await page.evaluate(() => document.querySelectorAll("*").length);
    await work();
    const screensDown = await scrollDown(page);
    const downMs = await work();
    const last = await page.getByText(`Question ${turns - 1}`).isVisible();

    await open();
    await work();
    const start = performance.now();
    await page.locator(".messages").press("Home");
    await page.getByText("Question 0", { exact: true }).waitFor({ timeout: 60_000 });
    const homeMs = performance.now() - start;
    const homeWork = await work();
    const screens = process.env["BENCH_SCREENS"];
    if (screens !== undefined) await takeScreens(page, screens);

    const [firstPart = Number.NaN, lastPart = Number.NaN] = [parts[0], parts.at(-1)];
    console.log("\nA chat of 10,000 messages on the page");
    console.log(`  opens in ${openMs.toFixed(0)} ms`);
    console.log(
      `  ${jumps.length} older pages: ${firstPart.toFixed(0)} ms of work for each of the first, ${lastPart.toFixed(0)} for each of the last`,
    );
    console.log(`  then there are ${elements} elements; jumps up to ${Math.max(...jumps)} px`);
    console.log(`  down again over ${screensDown} screens: ${(downMs / screensDown).toFixed(1)} ms of work for each`);
    console.log(`  Home: the first message after ${homeMs.toFixed(0)} ms, ${homeWork.toFixed(0)} of work`);
    console.log(verdict(`opens in ≤ ${maxOpenMs} ms`, openMs <= maxOpenMs));
    console.log(verdict("all messages are reached, up and down", first === "Question 0" && last));
    console.log(verdict(`jumps ≤ ${maxJumpPx} px`, Math.max(...jumps) <= maxJumpPx));
    console.log(verdict(`the last pages ≤ ${maxGrowth} × the first`, lastPart <= maxGrowth * firstPart));
  } finally {
    await browser.close();
    await demo.close();
  }
}

/** Scrolls to the top of what is loaded, and waits for older messages, so often. Returns the jump of each time. */
async function scrollBack(page: Page, times: number): Promise<number[]> {
  return page.evaluate(async (pages) => {
    const box = document.querySelector<HTMLElement>(".messages") ?? document.body;
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const firstBlock = () => document.querySelector(".message-block");
    const jumps: number[] = [];
    while (jumps.length < pages && document.querySelector(".older-button")) {
      const block = firstBlock();
      box.scrollTop = 30;
      await frame();
      const first = block?.firstElementChild;
      const placeNow = () => (first?.getBoundingClientRect().top ?? 0) - box.getBoundingClientRect().top;
      let place = placeNow();
      while (firstBlock() === block) {
        place = placeNow();
        await frame();
      }
      for (let frames = 0; frames < 4; frames++) await frame();
      jumps.push(Math.round(Math.abs(placeNow() - place)));
    }
    if (jumps.length < pages) box.scrollTop = 0;
    await frame();
    return jumps;
  }, times);
}

/** Scrolls to the end, a screen at a time. Returns the number of screens. */
async function scrollDown(page: Page): Promise<number> {
  return page.evaluate(async () => {
    const box = document.querySelector<HTMLElement>(".messages") ?? document.body;
    let screens = 0;
    while (box.scrollTop + box.clientHeight < box.scrollHeight - 2) {
      box.scrollTop += box.clientHeight;
      screens += 1;
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
    return screens;
  });
}

async function firstWords(page: Page): Promise<string> {
  const words = await page.locator('.messages [data-role="user"]').first().innerText();
  return words.replace(/^You:\s*/, "");
}

/** Returns a function that says how many milliseconds the page's thread has worked since it was last asked. */
async function watchWork(page: Page): Promise<() => Promise<number>> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  const read = async () => {
    const { metrics } = await devtools.send("Performance.getMetrics");
    return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN) * 1000;
  };
  let before = await read();
  return async () => {
    const now = await read();
    const work = now - before;
    before = now;
    return work;
  };
}

async function takeScreens(page: Page, directory: string): Promise<void> {
  await page.screenshot({ path: join(directory, "beginning.png") });
  await page.emulateMedia({ colorScheme: "dark" });
  await page.screenshot({ path: join(directory, "beginning-dark.png") });
  await page.setViewportSize({ width: 390, height: 780 });
  await page.screenshot({ path: join(directory, "beginning-phone.png") });
}

/** Writes a chat with many turns into the database of a server that does not run. */
async function writeLongChat(path: string): Promise<void> {
  const store = sqliteStore({ path });
  const chat = await store.openChat({ owner: "local", name: "long", appName: "wallet_assistant" });
  const message = (id: string, role: UIMessage["role"], text: string): UIMessage => ({
    id,
    role,
    parts: [{ type: "text", text }],
  });
  const entries = Array.from({ length: turns }, (_, turn) => [
    {
      turn: `turn-${turn}`,
      kind: "begin" as const,
      reply: `msg-${turn}`,
      message: message(`user-${turn}`, "user", `Question ${turn}`),
    },
    {
      turn: `turn-${turn}`,
      kind: "end" as const,
      message: message(`msg-${turn}`, "assistant", `Answer ${turn} ${"with **some** words ".repeat((turn % 7) * 10)}`),
    },
  ]);
  await store.append(chat.id, entries.flat());
  await store.close();
}
