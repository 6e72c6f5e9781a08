import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { OwnerRates } from "./owner-rates.ts";

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

test("lets an owner who is a little too fast wait, and refuses one who is much too fast", async () => {
  const rates = new OwnerRates("attaches", { size: 2, perSecond: 1 }, () => Date.now());
  await Promise.all([rates.pass("alice"), rates.pass("alice")]);
  let passed = false;
  const third = rates.pass("alice").then(() => (passed = true));
  const fourth = rates.pass("alice");
  await expect(rates.pass("alice")).rejects.toMatchObject({
    code: "too_many",
    retryAfter: 3,
    message: "The limit of 1 attaches per second and owner is reached. Try again in 3 seconds.",
  });
  await rates.pass("bob");
  expect(passed).toBe(false);
  await vi.advanceTimersByTimeAsync(1000);
  await third;
  await vi.advanceTimersByTimeAsync(1000);
  await fourth;
  await vi.advanceTimersByTimeAsync(1000);
  await rates.pass("alice");
});

test("has no limit if the rate has none", async () => {
  const rates = new OwnerRates("attaches", { size: Infinity, perSecond: Infinity }, () => Date.now());
  const passes = Array.from({ length: 5000 }, () => rates.pass("alice"));
  await expect(Promise.all(passes)).resolves.toHaveLength(5000);
});
