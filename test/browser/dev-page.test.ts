/** The page of `dev`: the demo's page without the demo. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { expectAccessible } from "./accessible.ts";
import { sharedBrowser } from "../fixtures/chromium.ts";
import { addressOf, runCli } from "../fixtures/cli-process.ts";

const agents = join(import.meta.dirname, "../fixtures/agents");

it("shows any agent with its chats, events and state, and asks about its calls", async () => {
  const data = mkdtempSync(join(tmpdir(), "dev-page-"));
  const context = await (await sharedBrowser()).newContext({ viewport: { width: 1440, height: 900 } });
  try {
    const cli = runCli(["dev", "./team.ts", "--port", "0", "--data", data], { cwd: agents });
    const url = await addressOf(cli);
    const page = await context.newPage();
    const errors: string[] = [];
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    await page.goto(`${url}/?mode=bidi`);

    await page.getByRole("button", { name: "call look_up_order" }).click();
    const state = page.getByRole("region", { name: "State" });
    await state.getByText("last_order").waitFor();
    await expect.poll(() => state.innerText()).toContain('"example order"');
    await expect
      .poll(() => page.getByRole("region", { name: "Events" }).innerText())
      .toContain("tool-output-available");
    await expect
      .poll(() => page.getByRole("navigation", { name: "Chats" }).innerText())
      .toContain("call look_up_order");
    await expect.poll(() => page.getByText("Wallet").count()).toBe(0);

    // The list is below its title, as wide as its column.
    const chats = page.getByRole("navigation", { name: "Chats" });
    const boxes = await Promise.all(
      [chats, chats.getByRole("heading"), chats.getByRole("searchbox")].map((part) => part.boundingBox()),
    );
    const [column, title, search] = boxes;
    expect(search?.y).toBeGreaterThan((title?.y ?? 0) + (title?.height ?? 0));
    expect(search?.width).toBeGreaterThan((column?.width ?? 0) * 0.8);

    await page.getByRole("textbox", { name: "Message" }).fill("call refund_order");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: /^Approve/ }).click();
    await page.getByText('refund_order returned {"refunded":1').waitFor();
    await expectAccessible(page);
    expect(errors).toEqual([]);
  } finally {
    await context.close();
    rmSync(data, { recursive: true, force: true });
  }
});
