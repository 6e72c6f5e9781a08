/** What people do with chats on the demo page: find, rename, move and delete them. */
import { readFile } from "node:fs/promises";
import { AxeBuilder } from "@axe-core/playwright";
import { type ScriptedGemini, startScriptedGemini } from "adk-stream-protocol/testing";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { demoRules } from "../../demo/script/demo-rules.ts";
import { type DemoServer, startDemo } from "../fixtures/demo-server.ts";
import { cards, inState, openVisitor, pathOf, say, type Visitor, waiting } from "./page.ts";

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
beforeEach(() => gemini.reset(demoRules));
afterEach(() => visitor.leave());

const button = (name: string | RegExp) => page.getByRole("button", { name, exact: true });
const rows = () => page.locator("[data-chat-id]");
const row = (title: string) => rows().filter({ hasText: title });
const act = async (title: string, action: string) => {
  await row(title)
    .getByRole("button", { name: /^Actions for/ })
    .click();
  await row(title).getByText(action, { exact: true }).click();
};
const replied = () => page.getByText(/Hello! I can/).waitFor({ timeout: waiting });
const ready = () => button("Send").waitFor({ timeout: waiting });
const wide = { width: 1500, height: 860 };

async function expectAccessible(): Promise<void> {
  const axe = new AxeBuilder({ page }).options({ rules: { "target-size": { enabled: true } } });
  const { violations } = await axe.analyze();
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
}

describe("the list of chats", () => {
  it("finds, renames, moves and deletes chats, and shows what waits in others", async () => {
    await visitor.visit(demo.url + pathOf("sse", "ai@7"));
    await page.setViewportSize(wide);
    await say(page, "Send 7 dollars to Zed");
    await inState(cards(page).first(), "asked");
    const waits = page.url();
    await row("Send 7 dollars to Zed").getByText("1 request waits").waitFor({ timeout: waiting });
    expect(await row("Send 7").getByRole("link").getAttribute("aria-current")).toBe("page");
    await button("New chat").click();
    await button("Chats, 1 request waits in other chats").waitFor({ timeout: waiting });
    await say(page, "hello there");
    await replied();
    await row("hello there").waitFor({ timeout: waiting });
    expect(await rows().allInnerTexts()).toEqual([
      expect.stringContaining("hello there"),
      expect.stringContaining("Send 7 dollars"),
    ]);

    // Titles are found in any case, and changed in place.
    await page.getByRole("searchbox").fill("ZED");
    await row("hello there").waitFor({ state: "detached", timeout: waiting });
    await page.getByRole("searchbox").fill("");
    await act("hello there", "Rename");
    await page.keyboard.press("Escape");
    expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe(
      "Actions for hello there",
    );
    await page.keyboard.press("Enter");
    await row("hello there").getByText("Rename").click();
    await page.getByRole("textbox", { name: "Title of the chat" }).fill("‮Greetings <b>");
    await page.keyboard.press("Enter");
    await row("Greetings <b>").waitFor({ timeout: waiting });
    await expectAccessible();

    // A downloaded chat can be imported: its words are there, in a chat of its own.
    await row("Greetings")
      .getByRole("button", { name: /^Actions for/ })
      .click();
    const saved = page.waitForEvent("download");
    await row("Greetings").getByRole("link", { name: "Download" }).click();
    const file = await readFile(await (await saved).path());
    expect((await saved).suggestedFilename()).toMatch(/\.jsonl$/);
    const original = page.url();
    await page.getByTestId("import-file").setInputFiles({ name: "x.jsonl", mimeType: "", buffer: Buffer.from("{") });
    await page.getByText("The file could not be imported.").waitFor({ timeout: waiting });
    await page.getByTestId("import-file").setInputFiles({ name: "a.jsonl", mimeType: "", buffer: file });
    await page.waitForURL((url) => url.href !== original);
    await replied();
    await expect.poll(() => row("Greetings").count(), { timeout: waiting }).toBe(2);

    // The open chat is deleted only after a second click in another place.
    const imported = new URL(page.url()).searchParams.get("chat");
    const open = page.locator(`[data-chat-id="${imported}"]`);
    await open.getByRole("button", { name: /^Actions for/ }).click();
    await open.getByText("Delete", { exact: true }).click();
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Cancel");
    await open.getByRole("button", { name: "Delete", exact: true }).click();
    await open.waitFor({ state: "detached", timeout: waiting });
    await page.getByText("It asks before it pays.").waitFor({ timeout: waiting });

    // A link opens the chat whose card still waits. Its deletion withdraws the request.
    const tab = await visitor.openTab(waits);
    await inState(cards(tab).first(), "asked");
    await act("Send 7 dollars to Zed", "Delete");
    await row("Send 7").getByRole("button", { name: "Delete", exact: true }).click();
    await row("Send 7").waitFor({ state: "detached", timeout: waiting });
    await cards(tab).first().waitFor({ state: "detached", timeout: waiting });
  });

  it("is a drawer where there is no room, also in BIDI and on AI SDK 6", async () => {
    await visitor.visit(demo.url + pathOf("bidi", "ai@6"));
    await page.setViewportSize({ width: 390, height: 700 });
    await say(page, "hello from a phone");
    await replied();
    await ready();
    const first = page.url();
    await button("New chat").click();
    await say(page, "Send 7 dollars to Zed");
    await inState(cards(page).first(), "asked");
    await button(/^Chats/).click();
    await row("Send 7 dollars to Zed").getByText("1 request waits").waitFor({ timeout: waiting });
    await expectAccessible();
    await row("hello from a phone").getByRole("link").click();
    await page.getByRole("dialog").waitFor({ state: "detached", timeout: waiting });
    await replied();
    expect(page.url()).toBe(first);
    await button("Chats, 1 request waits in other chats").waitFor({ timeout: waiting });
    await page.goBack();
    await inState(cards(page).first(), "asked");
  });
});
