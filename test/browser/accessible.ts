import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { expect } from "vitest";

export interface Look {
  colorScheme: "light" | "dark";
  /** The size of the window, if it changes. */
  width?: number;
  height?: number;
}

/** Checks the page as it is now. */
export async function expectAccessible(page: Page, { targetSize = false, where = "" } = {}): Promise<void> {
  const axe = new AxeBuilder({ page })
    // The page has no frames of other origins. For those axe would open a tab of its own, which takes longer than the check.
    .setLegacyMode()
    .options({ resultTypes: ["violations"], rules: { "target-size": { enabled: targetSize } } });
  const { violations } = await axe.analyze();
  expect(
    violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`),
    where,
  ).toEqual([]);
}

/** Checks the page in several themes and windows. */
export async function expectAccessibleIn(page: Page, looks: readonly Look[]): Promise<void> {
  for (const { colorScheme, width, height } of looks) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    if (width !== undefined && height !== undefined) await page.setViewportSize({ width, height });
    await expectAccessible(page, { where: `${colorScheme} ${width ?? ""}` });
  }
}
