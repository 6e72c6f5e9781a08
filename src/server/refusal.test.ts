import { expect, test } from "vitest";
import type { Logger } from "../agent/index.ts";
import { BridgeError } from "../protocol/index.ts";
import { failureMessage, toRefusal } from "./refusal.ts";

function record() {
  const logged: { event: string; fields: Record<string, unknown> | undefined }[] = [];
  const logger: Logger = { info() {}, warn() {}, error: (event, fields) => void logged.push({ event, fields }) };
  return { logged, logger };
}

test("a broken rule is told in its own words and not logged", () => {
  const { logged, logger } = record();
  const error = new BridgeError("conflict", "Request r is still open.");
  expect(toRefusal(error, logger, "A frame failed.")).toEqual({
    code: "conflict",
    message: "Request r is still open.",
  });
  expect(logged).toEqual([]);
});

test("any other error is logged with its stack and told without details", () => {
  const { logged, logger } = record();
  const refusal = toRefusal(new Error("the password is 1234"), logger, "A request failed.", { method: "GET" });
  expect(refusal).toEqual({ code: "internal", message: failureMessage });
  expect(logged).toEqual([
    { event: "A request failed.", fields: { method: "GET", error: expect.stringContaining("the password is 1234\n") } },
  ]);
});

test("a thrown value that is no Error is logged as text", () => {
  const { logged, logger } = record();
  toRefusal("broken", logger, "A request failed.");
  expect(logged).toEqual([{ event: "A request failed.", fields: { error: "broken" } }]);
});
