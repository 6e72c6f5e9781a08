/** The documentation site in a browser: search, both themes, a narrow screen, and nothing from elsewhere. */
import { mkdtempSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildSite } from "../../scripts/docs/build-site.ts";
import { serveSite } from "../../scripts/docs/serve-site.ts";
import { sharedBrowser } from "../fixtures/chromium.ts";
import { root } from "../fixtures/documents.ts";
import { expectAccessibleIn } from "./accessible.ts";

const folder = mkdtempSync(join(tmpdir(), "docs-site-"));
let server: Server;
let url: string;
let context: BrowserContext;
let page: Page;
const problems: string[] = [];

beforeAll(async () => {
  buildSite(root, folder);
  server = await serveSite(folder, 0);
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  context = await (await sharedBrowser()).newContext();
  page = await context.newPage();
  // A script or a style that the policy refuses is an error in the console.
  page.on("console", (message) => problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(url)) problems.push(request.url());
  });
});
afterAll(async () => {
  await context.close();
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

it("finds a section by the keyboard, in the served site and in the folder", async () => {
  await page.goto(`${url}/design/approval.html`);
  await page.keyboard.press("/");
  await page.keyboard.type("createBridge");
  await page.locator("#result-0[aria-selected=true]").waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL("**/reference/main.html#createBridge");
  expect(problems).toEqual([]);

  const fromFolder = await context.newPage();
  await fromFolder.goto(`file://${folder}/tools.html`);
  await fromFolder.keyboard.press("/");
  await fromFolder.keyboard.type("policy toolsets");
  await fromFolder.locator("#result-0").getByText("A policy for whole toolsets").click();
  await fromFolder.waitForURL("**/tools.html#a-policy-for-whole-toolsets");
  await fromFolder.close();
});

it("keeps the chosen theme, is accessible in both, and fits a narrow screen", async () => {
  await page.goto(`${url}/approvals.html`);
  await expectAccessibleIn(page, [{ colorScheme: "light" }, { colorScheme: "dark" }]);
  await page.emulateMedia({ colorScheme: "light" });
  await page.getByRole("button", { name: "Change between light and dark" }).click();
  await page.setViewportSize({ width: 360, height: 740 });
  for (const address of ["index.html", "protocol.html"]) {
    await page.goto(`${url}/${address}`);
    const state = await page.evaluate(() => ({
      theme: document.documentElement.dataset["theme"],
      isTooWide: document.documentElement.scrollWidth > innerWidth,
      isOpen: document.querySelector<HTMLDetailsElement>("nav.pages > details")?.open,
    }));
    expect(state, address).toEqual({ theme: "dark", isTooWide: false, isOpen: false });
  }
  expect(problems).toEqual([]);
});
