import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const page = read("docs/components.md");

it("docs/components.md shows components that are compiled with the tests", () => {
  const examples = [...page.matchAll(/```tsx\n([\s\S]*?)```/g)].map(([, example]) => example);
  expect(examples).toEqual(["example", "looks"].map((name) => read(`test/fixtures/components-${name}.tsx`)));
});

it("docs/components.md names every slot, every variable of the stylesheet, and what the index exports", () => {
  const slots = /export type CardSlot = ([^;]*);/.exec(read("src/react/card-parts.tsx"))?.[1] ?? "";
  for (const [, slot] of slots.matchAll(/"(\w+)"/g)) expect(page).toContain(`| \`${slot}\``);
  const variables = new Set(
    [...read("src/react/styles.css").matchAll(/^ {2}(--adk-[\w-]+):/gm)].map(([, name]) => name),
  );
  expect(variables.size).toBeGreaterThan(10);
  for (const name of variables) expect(page, name).toContain(`\`${name}\``);
  const components = [...read("src/react/index.ts").matchAll(/export \{ ([^}]*) \} from "\.\/[^"]*\.tsx"/g)];
  const names = components.flatMap(([, list = ""]) => list.split(", ").filter((name) => !name.startsWith("type ")));
  expect(names).toContain("ApprovalCard");
  for (const name of names) expect(page, name).toContain(name);
});
