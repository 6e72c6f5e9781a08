import { FunctionTool } from "@google/adk";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { inputOf } from "./call-input.ts";

const tool = (name: string, amount: number) =>
  new FunctionTool({
    name,
    description: "Works.",
    parameters: z.object({ amount: z.number().default(amount) }),
    execute: () => ({}),
  });

describe("the input of a call", () => {
  it("is read once, unless the arguments change", () => {
    const args: Record<string, unknown> = {};
    const pay = tool("pay", 5);
    const first = inputOf(pay, args);
    expect(first.value()).toEqual({ amount: 5 });
    expect(inputOf(pay, args)).toBe(first);
    args["amount"] = 7;
    expect(inputOf(pay, args).value()).toEqual({ amount: 7 });
  });

  it("is that of its own tool, also when two calls have the same object as arguments", () => {
    const args = {};
    expect(inputOf(tool("pay", 5), args).value()).toEqual({ amount: 5 });
    expect(inputOf(tool("refund", 9), args).value()).toEqual({ amount: 9 });
  });
});
