import { expect, it } from "vitest";
import { ApiError, toApiError, toErrorBody } from "./api-error.ts";

it("a refusal stays as it is, and any other error is the script's", () => {
  const refusal = new ApiError(404, "There is nothing here.");
  expect(toApiError(refusal)).toBe(refusal);
  expect(toApiError(new Error("oops"))).toMatchObject({ code: 500, message: "The script failed: Error: oops" });
});

it.each([
  [429, "RESOURCE_EXHAUSTED"],
  [418, "UNKNOWN"],
])("the body of a refusal names the status %i as %s", (code, status) => {
  expect(toErrorBody(new ApiError(code, "No."))).toEqual({ error: { code, message: "No.", status } });
});
