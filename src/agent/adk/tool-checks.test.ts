import { BaseTool, type Context, FunctionTool } from "@google/adk";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { invalidArguments, toolWantsApproval } from "./tool-checks.ts";

const context = {} as Context;
const parameters = z.object({ amount: z.number() });
const pay = (requireConfirmation?: boolean | (() => boolean | Promise<boolean>)) =>
  new FunctionTool({ name: "pay", description: "Pays.", parameters, requireConfirmation, execute: () => ({}) });

/** A tool that is not a `FunctionTool`. */
class OtherTool extends BaseTool {
  readonly #check: () => unknown;
  constructor(check: () => unknown) {
    super({ name: "other", description: "" });
    this.#check = check;
  }
  override async checkRequireConfirmation(): Promise<boolean> {
    return this.#check() as boolean;
  }
  override async runAsync(): Promise<unknown> {
    return {};
  }
}

const failing = () => {
  throw new Error("broken");
};

describe("whether a tool wants a person to approve the call", () => {
  it("is what the tool says", async () => {
    expect(await toolWantsApproval(pay(true), { amount: 5 }, context)).toBe(true);
    expect(
      await toolWantsApproval(
        pay(() => true),
        { amount: 5 },
        context,
      ),
    ).toBe(true);
    expect(await toolWantsApproval(pay(), { amount: 5 }, context)).toBe(false);
  });

  it("is true or false, whatever a predicate in plain JavaScript returns", async () => {
    expect(await toolWantsApproval(new OtherTool(() => "yes"), {}, context)).toBe(true);
    expect(await toolWantsApproval(new OtherTool(() => undefined), {}, context)).toBe(false);
  });

  it("is true when the tool cannot say", async () => {
    expect(await toolWantsApproval(new OtherTool(failing), {}, context)).toBe(true);
    const hanging = pay(() => new Promise<never>(() => undefined));
    expect(await toolWantsApproval(hanging, { amount: 5 }, context, 5)).toBe(true);
  });

  it("is an error for the model when a FunctionTool cannot read the arguments", async () => {
    const refused = await toolWantsApproval(
      pay(() => true),
      { amount: "five" },
      context,
    );
    expect(refused).toMatchObject({ error: expect.stringContaining("Error in tool 'pay'") });
  });
});

describe("arguments that a tool would refuse", () => {
  it("are an error for the model, so that no person is asked about them", () => {
    expect(invalidArguments(pay(true), { amount: 5 })).toBeUndefined();
    expect(invalidArguments(pay(true), { amount: "five" })).toMatchObject({
      error: expect.stringContaining("Error in tool 'pay'"),
    });
  });

  it("are not known for a tool without a check of its own", () => {
    expect(invalidArguments(new OtherTool(failing), { anything: true })).toBeUndefined();
  });
});
