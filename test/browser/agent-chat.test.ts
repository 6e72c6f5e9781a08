/** The hooks of `adk-stream-protocol/react` in a real browser. */
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { buildPage } from "../fixtures/build-page.ts";
import { messagesOf, openWorld } from "../fixtures/world.ts";
import { openVisitor, type Visitor, waiting } from "./page.ts";

let visitor: Visitor;
let fallback: (request: Request) => Response | undefined;
beforeAll(async () => {
  // All code comes from the page's own server, also what is loaded later. AI SDK's schemas find out whether they may evaluate text.
  const policy = { "content-security-policy": "default-src 'self'; script-src 'self' 'unsafe-eval'" };
  [visitor, fallback] = await Promise.all([openVisitor(), buildPage("agent-chat", policy)]);
});
afterEach(() => visitor.leave());
afterAll(() => visitor.close());

const shows = (page: Page, selector: string) =>
  page.locator(selector).last().waitFor({ state: "attached", timeout: waiting });
const says = (page: Page, words: string) => page.locator("li", { hasText: words }).last().waitFor({ timeout: waiting });
const approve = (page: Page) => page.getByRole("button", { name: "Approve", exact: true }).last().click();
async function say(page: Page, words: string): Promise<void> {
  await page.getByRole("textbox").fill(words);
  await page.getByRole("textbox").press("Enter");
}

describe.each(["sse", "websocket"])("the hooks over %s", (transport) => {
  it("answer in the open stream", async () => {
    const world = await openWorld({ server: { fallback }, bridge: { live: { model: "gemini-2.5-flash-live" } } });
    const { page } = visitor;
    await visitor.visit(`${world.server.url}/?transport=${transport}`);
    await shows(page, "main[data-loaded=true]");
    await say(page, "pay");
    await shows(page, "[data-state=asked]");
    await shows(page, "[data-waiting='1']");
    await approve(page);
    await shows(page, "[data-state=done]");
    await says(page, "process_payment gave");
    await shows(page, "main[data-status=ready]");
    await shows(page, "[data-statuses='ready submitted streaming ready']");
    expect(world.payments).toHaveLength(1);
  });

  it("run a gated browser tool after the yes, also after a reload", async () => {
    const world = await openWorld({ server: { fallback }, bridge: { live: { model: "gemini-2.5-flash-live" } } });
    const { page } = visitor;
    await visitor.visit(`${world.server.url}/?transport=${transport}`);
    await shows(page, "main[data-loaded=true]");
    await say(page, "where");
    await shows(page, "[data-state=asked]");
    await page.reload();
    await shows(page, "[data-state=asked]");
    await approve(page);
    await says(page, 'get_location gave {"latitude":35}');
    await shows(page, "main[data-status=ready]");
    await expect.poll(() => page.locator("[data-state=done]").count()).toBe(1);
    expect(await messagesOf(world)).toHaveLength(2);
  });

  it("run a free browser tool once", async () => {
    const world = await openWorld({ server: { fallback }, bridge: { live: { model: "gemini-2.5-flash-live" } } });
    const { page } = visitor;
    await visitor.visit(`${world.server.url}/?transport=${transport}`);
    await shows(page, "main[data-loaded=true]");
    await say(page, "music");
    await says(page, 'change_bgm gave {"playing":2}');
    await shows(page, "main[data-status=ready]");
    expect(await messagesOf(world)).toHaveLength(2);
  });

  it("run a browser tool once, and answer once, if the chat is in two places of a page", async () => {
    const world = await openWorld({ server: { fallback }, bridge: { live: { model: "gemini-2.5-flash-live" } } });
    const { page } = visitor;
    await visitor.visit(`${world.server.url}/?transport=${transport}&places=2`);
    await shows(page, "main[data-loaded=true]");
    const [first, second] = [page.locator("main").first(), page.locator("main").last()];
    await first.getByRole("textbox").fill("where");
    await first.getByRole("textbox").press("Enter");
    for (const place of [first, second]) await place.locator("[data-state=asked]").waitFor({ state: "attached" });
    await Promise.all([first, second].map((place) => place.getByRole("button", { name: "Approve" }).click()));
    for (const place of [first, second]) {
      await place.locator("[data-state=done]").waitFor({ state: "attached" });
      await place.locator("li", { hasText: 'get_location gave {"latitude":35}' }).waitFor({ timeout: waiting });
    }
    expect(await page.evaluate(() => document.documentElement.dataset["runs"])).toBe("1");
    expect(await messagesOf(world)).toHaveLength(2);
  });
});

it("a browser tool runs once if the place of the page that ran it goes before the server has the result", async () => {
  const world = await openWorld({ server: { fallback } });
  const { page } = visitor;
  let release = () => {};
  const isReleased = new Promise<void>((resolve) => (release = resolve));
  const sent = page.waitForRequest("**/results");
  await page.route("**/results", async (route) => {
    await isReleased;
    await route.continue();
  });
  await visitor.visit(`${world.server.url}/?transport=sse&places=2&leaves`);
  await shows(page, "main[data-loaded=true]");
  await page.locator("main").last().getByRole("textbox").fill("music");
  await page.locator("main").last().getByRole("textbox").press("Enter");
  await sent;
  await expect.poll(() => page.locator("main").count()).toBe(1);
  // The other place asks the server, and has the call still without an outcome.
  const asked = page.waitForResponse("**/approvals?chat=*");
  await page.evaluate(() => dispatchEvent(new Event("online")));
  await asked;
  await shows(page, "main[data-loaded=true]");
  release();
  await says(page, 'change_bgm gave {"playing":2}');
  expect(await page.evaluate(() => document.documentElement.dataset["runs"])).toBe("1");
  expect(await messagesOf(world)).toHaveLength(2);
});

describe("the code for a WebSocket", () => {
  const loads = (page: Page) => {
    const names: string[] = [];
    page.on("request", (request) => names.push(new URL(request.url()).pathname));
    return () => names.filter((name) => name.includes("loaded-websocket-transport"));
  };

  it("is not loaded by a page over SSE", async () => {
    const world = await openWorld({ server: { fallback } });
    const { page } = visitor;
    const loaded = loads(page);
    await visitor.visit(`${world.server.url}/?transport=sse`);
    await shows(page, "main[data-loaded=true]");
    await say(page, "pay");
    await shows(page, "[data-state=asked]");
    await approve(page);
    await says(page, "process_payment gave");
    expect(loaded()).toEqual([]);
  });

  it("is loaded again when the message is sent again, if it did not come", async () => {
    const world = await openWorld({ server: { fallback }, bridge: { live: { model: "gemini-2.5-flash-live" } } });
    const { page } = visitor;
    const loaded = loads(page);
    const address = "**/loaded-websocket-transport*";
    await page.route(address, (route) => route.abort());
    await visitor.visit(`${world.server.url}/?transport=websocket`);
    await shows(page, "main[data-loaded=true][data-connection=idle]");
    await say(page, "pay");
    const sentence = /^The network connection needs code that could not be loaded \(.+\)\. Reload the page\.$/;
    await page.getByText(sentence).waitFor({ timeout: waiting });
    await shows(page, "main[data-status=error][data-connection=closed]");
    await page.unroute(address);
    // What could not be sent can be sent again, with the keyboard too.
    await page.getByRole("button", { name: "Send again" }).press("Enter");
    await shows(page, "[data-state=asked]");
    await shows(page, "main[data-connection=open]");
    await approve(page);
    await says(page, "process_payment gave");
    expect(world.payments).toHaveLength(1);
    expect(await page.getByRole("button", { name: "Send again" }).count()).toBe(0);
    expect(await messagesOf(world)).toHaveLength(2);
    expect(loaded().length).toBeGreaterThan(1);
  });
});
