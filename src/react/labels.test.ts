import { expect, test } from "vitest";
import { en } from "./labels-en.ts";
import { ja } from "./labels-ja.ts";
import { labelsIn } from "./labels.ts";

test("are English unless the language is Japanese", () => {
  for (const language of ["en", "en-US", "de", "jam", ""]) expect(labelsIn(language).approve).toBe("Approve");
  for (const language of ["ja", "ja-JP", "JA"]) expect(labelsIn(language).approve).toBe("承認");
});

test("can be changed one by one, also inside a group", () => {
  const labels = labelsIn("en", { deny: "Reject", states: { done: "Paid" }, assistantSays: ["(", ")"] });
  expect(labels).toMatchObject({ approve: "Approve", deny: "Reject", assistantSays: ["(", ")"] });
  expect(labels.states).toEqual({ ...en.states, done: "Paid" });
  expect(en.states.done).toBe("Done");
});

test("say the same things in both languages", () => {
  const shapeOf = (value: unknown): unknown =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)]))
      : typeof value;
  expect(shapeOf({ ...ja, scripts: {} })).toEqual(shapeOf({ ...en, scripts: {} }));
});
