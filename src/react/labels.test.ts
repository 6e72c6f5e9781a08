import { expect, test } from "vitest";
import { ja } from "./ja.ts";
import { en } from "./labels-en.ts";
import { changeLabels } from "./labels.ts";

test("can be changed one by one, also inside a group", () => {
  const labels = changeLabels({ deny: "Reject", states: { done: "Paid" }, assistantSays: ["(", ")"] }, en);
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

test("do not claim that a failed call ran, because its tool may be gone", () => {
  expect([en.notes.failed, ja.notes.failed]).toEqual(["The call failed.", "呼び出しは失敗しました。"]);
});
