import { describe, expect, it } from "vitest";
import { readLimits } from "./read-limits.ts";

const defaults = { turns: 10, stallMs: 1000, frames: { size: 5, perSecond: 1 } };

describe("limits", () => {
  it("have defaults", () => {
    expect(readLimits(undefined, defaults)).toEqual(defaults);
    expect(readLimits({ turns: undefined }, defaults)).toEqual(defaults);
  });

  it("may be given one by one, and be endless", () => {
    expect(readLimits({ turns: Infinity, stallMs: 0.5 }, defaults)).toEqual({
      ...defaults,
      turns: Infinity,
      stallMs: 0.5,
    });
    expect(readLimits({ frames: { size: 1, perSecond: 0.1 } }, defaults)).toMatchObject({
      frames: { size: 1, perSecond: 0.1 },
    });
  });

  it.each([
    [{ turns: 0 }, "The limit turns must be a whole number, greater than 0; it is 0."],
    [{ turns: -1 }, "The limit turns must be a whole number, greater than 0; it is -1."],
    [{ turns: 1.5 }, "The limit turns must be a whole number, greater than 0; it is 1.5."],
    [{ turns: "5" }, 'The limit turns must be a whole number, greater than 0; it is "5".'],
    [{ turns: null }, "The limit turns must be a whole number, greater than 0; it is null."],
    [{ stallMs: Number.NaN }, "The limit stallMs must be a number of milliseconds, greater than 0; it is NaN."],
    [{ frames: 5 }, "The limit frames must be { size, perSecond }, two numbers greater than 0; it is 5."],
    [{ frames: { size: 0, perSecond: 1 } }, "two numbers greater than 0; it is an object."],
    [{ turn: 5 }, "There is no limit named turn here; the limits are turns, stallMs, frames."],
    [{ constructor: 5 }, "There is no limit named constructor here"],
    [5, "The option limits must be an object with a number for each limit."],
    [[5], "The option limits must be an object with a number for each limit."],
  ])("are refused by name: %j", (given, sentence) => {
    expect(() => readLimits(given, defaults)).toThrow(sentence);
  });
});
