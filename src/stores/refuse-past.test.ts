import { describe, expect, it } from "vitest";
import { UpperBound, UpperBounds } from "./refuse-past.ts";

describe("an upper bound", () => {
  it("is counted once, and again only when it reaches a limit", () => {
    let count = 3;
    let counted = 0;
    const bound = new UpperBound(() => {
      counted += 1;
      return count;
    });
    expect(bound.value(10)).toBe(3);
    for (let each = 0; each < 7; each++) {
      count += 1;
      bound.added();
    }
    expect(counted).toBe(1);
    count = 4;
    expect(bound.value(10)).toBe(4);
    expect(counted).toBe(2);
    expect(bound.value(10)).toBe(4);
    expect(counted).toBe(2);
  });

  it("is not counted without a limit", () => {
    const bound = new UpperBound(() => {
      throw new Error("counted");
    });
    expect(bound.value(Infinity)).toBe(0);
  });
});

describe("upper bounds of owners", () => {
  it("are counted once for each owner", () => {
    const counted: string[] = [];
    const bounds = new UpperBounds((owner) => counted.push(owner));
    bounds.of("ann").value(10);
    bounds.of("ann").added();
    expect(bounds.of("ann").value(10)).toBe(2);
    expect(bounds.of("ben").value(10)).toBe(2);
    expect(counted).toEqual(["ann", "ben"]);
  });

  it("forget owners when there are many, and count again", () => {
    const counted: string[] = [];
    const bounds = new UpperBounds((owner) => counted.push(owner));
    bounds.of("ann").value(10_000);
    for (let each = 0; each < 1000; each++) bounds.of(`other ${each}`);
    bounds.of("ann").value(10_000);
    expect(counted).toEqual(["ann", "ann"]);
  });
});
