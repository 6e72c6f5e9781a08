import { describe, expect, it } from "vitest";
import { numbered } from "./numbered.ts";

const create = () => numbered<string>((number) => `${number} was forgotten.`);

describe("a numbered value", () => {
  it("can be waited for before and after it is known", async () => {
    const values = create();
    const early = values.wait(2);
    values.settle(2, "b");
    expect([await early, await values.wait(2)]).toEqual(["b", "b"]);
  });

  it("cannot be waited for when it was forgotten, and the sentence says so", async () => {
    const values = create();
    values.settle(1, "a");
    values.settle(2, "b");
    values.forget(1);
    await expect(values.wait(1)).rejects.toThrow("1 was forgotten.");
    expect(await values.wait(2)).toBe("b");
  });

  it("still reaches those who waited before it was forgotten", async () => {
    const values = create();
    const early = values.wait(1);
    values.forget(1);
    const late = values.wait(1);
    values.settle(1, "a");
    expect([await early, await late]).toEqual(["a", "a"]);
    await expect(values.wait(1)).rejects.toThrow("1 was forgotten.");
  });

  it("is not kept when it comes after it was forgotten and no one waits", async () => {
    const values = create();
    values.forget(1);
    values.settle(1, "a");
    await expect(values.wait(1)).rejects.toThrow("1 was forgotten.");
  });

  it("that will not come is told to those who wait", async () => {
    const values = create();
    const waiting = values.wait(3);
    values.giveUp(new Error("It was closed."));
    await expect(waiting).rejects.toThrow("It was closed.");
  });

  it.each([0, -1, 1.5, Number.NaN])("has no number %d", async (number) => {
    await expect(create().wait(number)).rejects.toThrow("counted from one");
  });
});
