import { describe, expect, it } from "vitest";
import { within } from "./within.ts";

describe("waiting within a limit", () => {
  it("gives the result that comes in time", async () => {
    expect(await within(1000, Promise.resolve(5), "late")).toBe(5);
    await expect(within(1000, Promise.reject(new Error("broken")), "late")).rejects.toThrow("broken");
  });

  it("ends with the sentence when the limit is over", async () => {
    await expect(within(1, new Promise(() => undefined), "It took too long.")).rejects.toThrow("It took too long.");
  });
});
