import { expect, test } from "vitest";
import { callLine } from "./call-line.ts";

test.each([
  [{ amount: 50, recipient: "Hanako", currency: "USD" }, "$50.00 → Hanako"],
  [{ amount: 5000, recipient: "Hanako" }, "$5,000.00 → Hanako"],
  [{ amount: 20, card: "•••• 0002" }, "$20.00"],
  [{ amount: "50", recipient: "Hanako" }, "Hanako"],
  [{ service: "shop" }, "shop"],
  [{}, ""],
  [null, ""],
])("%j", (input, line) => {
  expect(callLine(input, "en")).toBe(line);
});
