import type { Page } from "playwright-core";
import { createBridge, defineAgent, defineTool } from "adk-stream-protocol";
import { listen, loadStaticPage } from "adk-stream-protocol/server";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { call, geminiAt, startScriptedGemini, text } from "adk-stream-protocol/testing";
import { z } from "zod";
import { launchBrowser } from "../../test/fixtures/chromium.ts";

/** Pays once over each transport with the built page in `folder`, which is used as a person would. */
export async function payInBrowser(folder: string): Promise<void> {
  const gemini = await startScriptedGemini({
    rules: [
      { when: ({ responses, fresh }) => !fresh && responses.length > 0, say: [text("It is paid.")] },
      { when: /pay/i, say: [text("One moment."), call("pay", { amount: 50, recipient: "Hanako" })] },
    ],
  });
  const paid: number[] = [];
  const pay = defineTool({
    name: "pay",
    description: "Pays a person.",
    parameters: z.object({ amount: z.number(), recipient: z.string() }),
    requireConfirmation: true,
    execute: ({ amount, recipient }) => ({ paid: paid.push(amount), to: recipient }),
  });
  const agent = defineAgent({
    name: "cashier",
    model: geminiAt({ model: "scripted", url: gemini.url }),
    instruction: "Help.",
    tools: [pay],
  });
  const store = memoryStore();
  const bridge = await createBridge({ agent, store });
  const { respond } = loadStaticPage({ "/": folder });
  const server = await listen({ bridge, port: 0, fallback: respond });
  const browser = await launchBrowser();
  try {
    for (const transport of ["sse", "websocket"]) {
      const page = await browser.newPage();
      const problems: string[] = [];
      page.on("pageerror", ({ message }) => problems.push(message));
      await page.goto(`${server.url}/?transport=${transport}`);
      await approve(page);
      if (problems.length > 0) throw new Error(`The page over ${transport} reports: ${problems.join(", ")}`);
    }
    if (paid.length !== 2) throw new Error(`There were ${paid.length} payments instead of 2.`);
  } finally {
    await browser.close();
    await server.close();
    await bridge.close();
    await store.close();
    await gemini.close();
  }
}

async function approve(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Pay Hanako" }).click();
  await page.getByRole("button", { name: /^Approve/ }).click();
  await page.getByText("It is paid.").waitFor();
}
