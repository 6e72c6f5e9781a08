import { expect, test } from "vitest";
import { interimText } from "./interim-text.ts";

test.each([
  [undefined, undefined],
  [null, undefined],
  [{ status: "queued" }, "queued"],
  [{ status: "queued", message: "Third in line." }, "Third in line."],
  [{ status: 5 }, "status 5"],
  [{ job: "7" }, "job 7"],
  ["queued", "queued"],
])("%j is %j", (interim, text) => {
  expect(interimText(interim)).toBe(text);
});
