import { expect, test } from "vitest";
import { TokenBucket } from "./token-bucket.ts";

/** How many can be taken at this moment. */
function takeAll(bucket: TokenBucket, now: number): number {
  let taken = 0;
  while (bucket.take(now)) taken += 1;
  return taken;
}

test("gives so many at once, and no more", () => {
  const bucket = new TokenBucket({ size: 3, perSecond: 2, now: 1000 });
  expect(takeAll(bucket, 1000)).toBe(3);
  expect(bucket.take(1000)).toBe(false);
});

test("fills again with time, a little after a little while", () => {
  const bucket = new TokenBucket({ size: 3, perSecond: 2, now: 0 });
  takeAll(bucket, 0);
  expect(takeAll(bucket, 400)).toBe(0);
  expect(takeAll(bucket, 500)).toBe(1);
  expect(takeAll(bucket, 1500)).toBe(2);
});

test("holds no more than its size, however long it was not used", () => {
  const bucket = new TokenBucket({ size: 3, perSecond: 2, now: 0 });
  expect(takeAll(bucket, 1_000_000_000)).toBe(3);
});

test("gives nothing for a clock that goes back", () => {
  const bucket = new TokenBucket({ size: 1, perSecond: 1, now: 5000 });
  expect(takeAll(bucket, 5000)).toBe(1);
  expect(takeAll(bucket, 1000)).toBe(0);
});

test("lets each caller wait for a token of its own, and takes none for one who would wait too long", () => {
  const bucket = new TokenBucket({ size: 1, perSecond: 2, now: 0 });
  expect([0, 0, 0, 0].map((now) => bucket.reserve(now, 1000))).toEqual([0, 500, 1000, 1500]);
  expect(bucket.reserve(500, 1000)).toBe(1000);
  expect([bucket.isFull(1999), bucket.isFull(2000)]).toEqual([false, true]);
});
