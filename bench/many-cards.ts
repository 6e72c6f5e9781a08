/**
 * An inbox with 1,000 questions, in a real Chromium, beside one with 20: the time until the first cards are on the screen,
 * and how long the page's thread is at work until they can be answered. Other processes do not affect the work.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { toNodeHandler } from "adk-stream-protocol/node";
import type { Browser } from "playwright-core";
import { buildPage } from "../test/fixtures/build-page.ts";
import { launchBrowser } from "../test/fixtures/chromium.ts";
import { verdict } from "./figures.ts";

const [few, many] = [20, 1000];
const maxGrowth = 2;

/** Measures and prints. */
export async function manyCards(): Promise<void> {
  const reply = await buildPage("components");
  const server = createServer(toNodeHandler((request) => reply(request) ?? new Response(null, { status: 204 })));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const browser = await launchBrowser();
  try {
    await draw(browser, url, few);
    const [small, large] = [await draw(browser, url, few), await draw(browser, url, many)];
    console.log("\nAn inbox with many questions");
    for (const [count, { shownMs, workMs }] of [[few, small] as const, [many, large] as const])
      console.log(`  ${count}: on the screen after ${shownMs.toFixed(0)} ms, ${workMs.toFixed(0)} ms of work`);
    console.log(verdict(`${many} ≤ ${maxGrowth} × ${few}`, large.workMs <= maxGrowth * small.workMs));
  } finally {
    await browser.close();
    server.close();
  }
}

async function draw(browser: Browser, url: string, count: number): Promise<{ shownMs: number; workMs: number }> {
  const page = await browser.newPage();
  await page.goto(url);
  await page.waitForFunction(() => "stage" in window);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  const workMs = async () => {
    const { metrics } = await devtools.send("Performance.getMetrics");
    return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN) * 1000;
  };
  const before = await workMs();
  const shownMs = await page.evaluate(async (length) => {
    const infos = Array.from({ length }, (_, index) => ({
      approvalId: `a${index}`,
      toolCallId: `c${index}`,
      toolName: "process_payment",
      state: "asked" as const,
      input: { amount: 50 + index, recipient: `Person ${index}`, currency: "USD", note: "For the tickets on Friday" },
      createdAt: index,
      expiresAt: Date.now() + 900_000,
      chatId: `chat-${index}`,
    }));
    const start = performance.now();
    window.stage.show({ infos, isInbox: true });
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    return performance.now() - start;
  }, count);
  await page.waitForFunction(() => !document.querySelector("[data-part=approve][aria-disabled=true]"));
  const work = (await workMs()) - before;
  await page.close();
  return { shownMs, workMs: work };
}
