/** What people do with chats on the demo page: find, rename, move and delete them, change what was said, attach files. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { sqliteStore } from "adk-stream-protocol/stores/sqlite";
import { gate, type ScriptedGemini, startScriptedGemini } from "adk-stream-protocol/testing";
import type { UIMessage } from "ai";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { demoRules } from "../../demo/script/demo-rules.ts";
import { type DemoServer, startDemo } from "../fixtures/demo-server.ts";
import { expectAccessible as expectPageAccessible } from "./accessible.ts";
import { cards, inState, openVisitor, pathOf, say, takesAnswer, type Visitor, waiting } from "./page.ts";

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

const expectAccessible = () => expectPageAccessible(page, { targetSize: true });

describe("the list of chats", () => {
  it("finds, renames, moves and deletes chats, and shows what waits in others", async () => {
    await visitor.visit(demo.url + pathOf("sse", "ai@7"));
    await page.setViewportSize(wide);
    // The list has the whole width, below its heading.
    const heading = await page.getByRole("heading", { name: "Chats" }).boundingBox();
    const search = await page.getByRole("searchbox").boundingBox();
    expect(search?.y).toBeGreaterThan((heading?.y ?? Infinity) + (heading?.height ?? 0));
    expect(search?.width).toBeGreaterThan(220);
    await say(page, "Send 7 dollars to Zed");
    await inState(cards(page).first(), "asked");
    const waits = page.url();
    await row("Send 7 dollars to Zed").getByText("1 request waits").waitFor({ timeout: waiting });
    await expect.poll(() => row("Send 7").getByRole("link").getAttribute("aria-current")).toBe("page");
    await button("New chat").click();
    await button("Chats, 1 request waits in other chats").waitFor({ timeout: waiting });
    await say(page, "hello there");
    await replied();
    await row("hello there").waitFor({ timeout: waiting });
    await expect
      .poll(() => rows().allInnerTexts())
      .toEqual([expect.stringContaining("hello there"), expect.stringContaining("Send 7 dollars")]);

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
    const told = tab.getByRole("status").getByText("This chat was deleted elsewhere.");
    await told.waitFor({ timeout: waiting });
    await say(tab, "hello again");
    await told.waitFor({ state: "detached", timeout: waiting });
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

describe("a search among many chats", () => {
  it("finds those that the list does not show yet", async () => {
    for (let number = 0; number < 65; number += 1) {
      const title = `Note ${number} of many`;
      await fetch(`${demo.url}/chats/import`, {
        method: "POST",
        headers: { "content-type": "application/x-ndjson" },
        body: JSON.stringify({ format: "adk-stream-protocol.chat", version: 1, title }),
      });
    }
    await visitor.visit(demo.url + pathOf("sse", "ai@7"));
    await page.setViewportSize(wide);
    await row("Note 64 of many").waitFor({ timeout: waiting });
    expect(await row("Note 0 of many").count()).toBe(0);
    await page.getByRole("searchbox").fill("note 0 many");
    await row("Note 0 of many").waitFor({ timeout: waiting });
    await page.getByRole("searchbox").fill("nowhere");
    await page.getByText("No title has these words.").waitFor({ timeout: waiting });
    await page.getByRole("searchbox").fill("");
    await row("Note 64 of many").waitFor({ timeout: waiting });
  });
});

describe.each([
  { mode: "sse", major: "ai@7" },
  { mode: "bidi", major: "ai@6" },
] as const)("edits and other replies over $mode with $major", ({ mode, major }) => {
  const users = () => page.locator('[data-role="user"]');
  const said = async () => (await users().allInnerTexts()).map((words) => words.replace(/^You:\s*/, ""));

  it("withdraw what follows after a warning, and what ran stays done", async () => {
    const before = await demo.balance();
    await visitor.visit(demo.url + pathOf(mode, major));
    await say(page, "hello");
    await replied();
    await ready();
    await say(page, "Send 9 dollars to Ann");
    await inState(cards(page).first(), "asked");
    await ready();

    // The keyboard reaches the edit, Escape leaves it, and the warning belongs to the field.
    await button("Edit message").first().press("Enter");
    const field = page.getByRole("textbox", { name: "Your message" });
    await page.getByText("What follows this message is withdrawn").waitFor({ timeout: waiting });
    await expectAccessible();
    await field.press("Escape");
    expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe("Edit message");

    await button("Edit message").first().press("Enter");
    await field.fill("Send 7 dollars to Zed");
    // An edit that cannot be sent is not lost.
    if (mode === "sse") await demo.stop("SIGKILL");
    await field.press("Enter");
    await demo.start();
    // After a failure the person sends the words again, from the message or from the form that opens again.
    const retry = page.locator(".unsent").getByText("Try again");
    const sendEdit = button("Send edit");
    await expect
      .poll(
        async () => {
          if (await sendEdit.isVisible()) await sendEdit.click({ timeout: 500 }).catch(() => undefined);
          else if (await retry.isVisible()) await retry.click({ timeout: 500 }).catch(() => undefined);
          return (await users().count()) === 1 && (await cards(page).count()) === 1;
        },
        { timeout: waiting },
      )
      .toBe(true);
    expect(await said()).toEqual(["Send 7 dollars to Zed"]);
    const card = cards(page).first();
    await inState(card, "asked");
    await takesAnswer(card);
    await card.getByRole("button", { name: "Approve" }).click();
    await inState(card, "done");
    await ready();
    expect(await demo.balance()).toBe(before - 7);

    // Another reply keeps the payment and does not pay again.
    const reply = page.locator(".reply").last();
    const id = await reply.getAttribute("data-message-id");
    await reply.getByRole("button", { name: "Make this reply again" }).click();
    await expect.poll(() => reply.getAttribute("data-message-id"), { timeout: waiting }).not.toBe(id);
    await ready();
    await inState(cards(page).first(), "done");
    await expect.poll(() => cards(page).count()).toBe(1);
    expect(await demo.balance()).toBe(before - 7);
    await say(page, "hello");
    await replied();
    await ready();
    // An older reply is made again only after a second click.
    await page.locator(".reply").first().getByRole("button", { name: "Make this reply again" }).click();
    await page.getByText("This reply and what follows it are withdrawn").waitFor({ timeout: waiting });
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Cancel");
    await button("Make again").click();
    await expect.poll(said, { timeout: waiting }).toEqual(["Send 7 dollars to Zed"]);
    await ready();
    await page.reload();
    await inState(cards(page).first(), "done");
    expect(await said()).toEqual(["Send 7 dollars to Zed"]);
    expect(await demo.balance()).toBe(before - 7);
    expect(gemini.requests.flatMap(({ pairingErrors }) => pairingErrors)).toEqual([]);
  });
});

/** A red pixel. */
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

describe("files", () => {
  const picture = { name: "dot.png", mimeType: "image/png", buffer: Buffer.from(pixel, "base64") };
  const chosen = () => page.getByRole("list", { name: "Attached files" }).getByRole("listitem");
  /** Hands a file to the page as the clipboard or a drag does. */
  const hand = (type: "paste" | "drop", name: string) =>
    page.evaluate(
      ([event, filename, base64]) => {
        const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
        const data = new DataTransfer();
        data.items.add(new File([bytes], filename, { type: "image/png" }));
        const options = { bubbles: true, cancelable: true };
        const field = document.querySelector(".composer textarea");
        if (event === "paste") field?.dispatchEvent(new ClipboardEvent(event, { ...options, clipboardData: data }));
        else document.body.dispatchEvent(new DragEvent(event, { ...options, dataTransfer: data }));
      },
      [type, name, pixel] as const,
    );
  const areDrawn = () =>
    page
      .locator("img.picture")
      .evaluateAll((images) => images.map((image) => image instanceof HTMLImageElement && image.naturalWidth > 0));

  it("are chosen, pasted and dropped, checked before sending, and shown after a reload", async () => {
    gemini.reset([
      { when: /look/, say: [{ kind: "part", part: { inlineData: { mimeType: "image/png", data: pixel } } }] },
      ...demoRules,
    ]);
    await visitor.visit(demo.url + pathOf("sse", "ai@7"));
    const letter = { name: "letter.txt", mimeType: "text/plain", buffer: Buffer.alloc(300 * 1024, "word ") };
    const film = { name: "film.mp4", mimeType: "video/mp4", buffer: Buffer.from("x") };
    await page.getByTestId("attach-files").setInputFiles([picture, letter, film]);
    await page.getByText(/film\.mp4: this type of file cannot be sent/).waitFor({ timeout: waiting });
    await hand("paste", "pasted.png");
    await hand("drop", "dropped.png");
    await expect.poll(() => chosen().count(), { timeout: waiting }).toBe(4);
    await button("Remove pasted.png").click();
    await expectAccessible();
    await say(page, "look at this");
    await expect.poll(areDrawn, { timeout: waiting }).toEqual([true, true, true]);
    await expect.poll(() => chosen().count()).toBe(0);
    await ready();
    const sent = JSON.stringify(gemini.requests[0]?.body);
    expect(sent).toContain(pixel);

    await page.reload();
    await expect.poll(areDrawn, { timeout: waiting }).toEqual([true, true, true]);
    const link = page.getByRole("link", { name: /letter\.txt/ });
    await expect.poll(() => link.getAttribute("href")).toMatch(/^\/files\/[0-9a-f]{32}$/);
    await expectAccessible();
  });

  it("are sent in BIDI without words too, and a large output is a preview with a link", async () => {
    await visitor.visit(demo.url + pathOf("bidi", "ai@6"));
    await page.getByTestId("attach-files").setInputFiles(picture);
    await chosen().waitFor({ timeout: waiting });
    await button("Send").click();
    await page.locator(".reply").first().waitFor({ timeout: waiting });
    await ready();
    expect(await areDrawn()).toEqual([true]);

    const url = `/files/${"a".repeat(32)}`;
    const output = { preview: '{"rows":["first', size: 3_000_000, url };
    const part = { type: "tool-get_weather", toolCallId: "c", state: "output-available", input: {}, output };
    await page.route("**/messages*", (route) =>
      route.fulfill({ json: { messages: [{ id: "m", role: "assistant", parts: [part] }] } }),
    );
    await page.reload();
    await page.getByText('{"rows":["first').first().click();
    const link = page.getByRole("link", { name: "Show the whole output (2.9 MiB)" });
    await link.waitFor({ timeout: waiting });
    await expect.poll(() => link.getAttribute("href")).toBe(url);
    await page.unrouteAll({ behavior: "wait" });
  });
});

/** Writes a chat with so many turns into the server's database, while the server does not run. */
async function writeLongChat(name: string, turns: number): Promise<void> {
  await demo.stop("SIGTERM");
  const store = sqliteStore({ path: join(demo.directory, "bridge.db") });
  const chat = await store.openChat({ owner: "local", name, appName: "wallet_assistant" });
  const message = (id: string, role: UIMessage["role"], text: string): UIMessage => ({
    id,
    role,
    parts: [{ type: "text", text }],
  });
  const numbers = Array.from({ length: turns }, (_, index) => index);
  const entries = numbers.flatMap((turn) => [
    {
      turn: `turn-${turn}`,
      kind: "begin" as const,
      reply: `msg-${turn}`,
      message: message(`user-${turn}`, "user", `Question ${turn}`),
    },
    {
      turn: `turn-${turn}`,
      kind: "end" as const,
      message: message(`msg-${turn}`, "assistant", `Answer ${turn} ${"with some words ".repeat((turn % 7) * 10)}`),
    },
  ]);
  await store.append(chat.id, entries);
  await store.close();
  await demo.start();
}

describe("a chat of 10,000 messages", () => {
  it("opens with one page of messages, and shows older ones where the reader is", async () => {
    await writeLongChat("long", 5000);
    const asked: string[] = [];
    page.on("request", (request) => {
      const { pathname, search } = new URL(request.url());
      if (pathname.endsWith("/messages")) asked.push(search);
    });
    const drawn = () => page.locator('[data-role="user"], .reply').count();
    await visitor.visit(`${demo.url}${pathOf("sse", "ai@7")}&chat=long`);
    await page.getByText("Question 4999").waitFor({ timeout: waiting });
    await ready();
    expect(asked.filter((search) => search !== "?limit=50")).toEqual([]);
    expect(await drawn()).toBe(50);

    // The message that the reader sees stays in its place while older ones are added above it.
    const place = () =>
      page.evaluate(() => {
        const box = document.querySelector(".messages")?.getBoundingClientRect();
        const message = [...document.querySelectorAll(".messages [data-role]")].find(({ textContent }) =>
          textContent.includes("Question 4975"),
        );
        return Math.round((message?.getBoundingClientRect().top ?? 0) - (box?.top ?? 0));
      });
    const held = gate();
    let top = Number.NaN;
    await page.route(/before=/, async (route) => {
      // Measured while the request waits, so that nothing moves in between.
      await page.locator(".messages").evaluate((box) => box.scrollTo(0, 40));
      top = await place();
      held.open();
      await route.continue();
    });
    await page.locator(".messages").evaluate((box) => box.scrollTo(0, 40));
    await held.opened;
    await expect.poll(drawn, { timeout: waiting }).toBe(100);
    await expect.poll(async () => Math.abs((await place()) - top), { timeout: waiting }).toBeLessThanOrEqual(2);
    expect(asked.filter((search) => search.includes("before="))).toHaveLength(1);

    await page.unrouteAll({ behavior: "wait" });

    // That is so too if the reader scrolls in the moment in which the next ones are drawn, before the page hears of it.
    const moved = await page.evaluate(async () => {
      const box = document.querySelector(".messages");
      const first = document.querySelector(".older")?.nextElementSibling;
      if (!box || !first) throw new Error("The page has no older messages.");
      const placeOfFirst = () => first.getBoundingClientRect().top - box.getBoundingClientRect().top;
      const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      const { fetch } = window;
      const answered = await new Promise<() => void>((resolve) => {
        window.fetch = async (input, init) => {
          const response = await fetch(input, init);
          if (typeof input !== "string" || !input.includes("before=")) return response;
          const body: unknown = await response.json();
          await new Promise<void>((answer) => resolve(answer));
          // Nothing of this waits for another task, so no frame comes in between.
          return { ok: true, status: 200, headers: response.headers, json: () => Promise.resolve(body) } as Response;
        };
        box.scrollTo(0, 40);
      });
      window.fetch = fetch;
      await nextFrame();
      await nextFrame();
      box.scrollTo(0, 200);
      const before = placeOfFirst();
      answered();
      await nextFrame();
      await nextFrame();
      return Math.abs(placeOfFirst() - before);
    });
    expect(await drawn()).toBe(150);
    expect(moved).toBeLessThanOrEqual(2);

    // A new message is added at the end, and the older ones stay.
    await say(page, "hello");
    await replied();
    await ready();
    expect(await drawn()).toBe(152);
    await page.getByText("Question 4926").waitFor({ state: "attached", timeout: waiting });

    // Home goes to the first message. What is far from there is not in the document.
    await page.locator(".messages").press("Home");
    await page.getByText("Question 0", { exact: true }).waitFor({ timeout: waiting });
    expect(await page.locator(".messages").evaluate(({ scrollTop }) => scrollTop)).toBe(0);
    await expect.poll(() => page.locator(".older-button").count()).toBe(0);
    expect(await drawn()).toBeLessThan(1000);
    await page.locator(".messages").press("End");
    await page.getByText("Question 4999").waitFor({ timeout: waiting });
  });
});
