import { BaseTool, FunctionTool } from "@google/adk";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { canonicalJson } from "../../protocol/index.ts";
import type { JsonObject } from "../../stores/index.ts";
import { bindTool, parseArguments, shownArguments } from "./bound-arguments.ts";

const toolContext = {} as never;

/** A tool with this schema that notes what its function gets. */
function toolWith(parameters: z.ZodObject, Tool = FunctionTool) {
  const ran: unknown[] = [];
  const tool = new Tool({ name: "pay", description: "Pays.", parameters, execute: (args) => void ran.push(args) });
  return { tool, ran };
}

/** What the gate stores about a call. */
function asked(tool: BaseTool, args: JsonObject) {
  const input = canonicalJson(shownArguments(parseArguments(tool, args)));
  const rawInput = canonicalJson(args);
  return { input, ...(rawInput !== input && { rawInput }) };
}

const changing = z.object({ amount: z.coerce.number().default(5000), to: z.string().transform((to) => `${to}!`) });

describe("an approved call", () => {
  it("runs with what its schema made of the arguments, once", async () => {
    const { tool, ran } = toolWith(changing);
    const row = asked(tool, { to: "Hanako" });
    expect(row).toEqual({ input: '{"amount":5000,"to":"Hanako!"}', rawInput: '{"to":"Hanako"}' });
    await bindTool(tool, row).runAsync({ args: { to: "Hanako" }, toolContext });
    expect(ran).toEqual([{ amount: 5000, to: "Hanako!" }]);
  });

  it("does not run if a callback has changed its arguments", async () => {
    const { tool, ran } = toolWith(changing);
    const bound = bindTool(tool, asked(tool, { to: "Hanako" }));
    await expect(bound.runAsync({ args: { to: "Mallory" }, toolContext })).rejects.toThrow(
      "The arguments were changed after they were approved; the tool was not run.",
    );
    expect(ran).toEqual([]);
  });

  it("runs with what was shown if its schema gives another value each time", async () => {
    let count = 0;
    const { tool, ran } = toolWith(z.object({ number: z.number().default(() => (count += 1)) }));
    const row = asked(tool, {});
    await bindTool(tool, row).runAsync({ args: {}, toolContext });
    expect(ran).toEqual([JSON.parse(row.input)]);
  });

  it("gets values that are not JSON, if they mean what was shown", async () => {
    const schema = z.object({ on: z.string().transform((text) => new Date(text)) });
    const { tool, ran } = toolWith(schema);
    const row = asked(tool, { on: "2026-11-16" });
    expect(row.input).toBe('{"on":"2026-11-16T00:00:00.000Z"}');
    await bindTool(tool, row).runAsync({ args: { on: "2026-11-16" }, toolContext });
    expect(ran).toEqual([{ on: new Date("2026-11-16") }]);
  });

  it("does not run if values that are not JSON mean something else by now", async () => {
    let year = 2026;
    const { tool, ran } = toolWith(z.object({ on: z.string().transform(() => new Date(Date.UTC(year, 0))) }));
    const row = asked(tool, { on: "now" });
    year = 2027;
    await expect(bindTool(tool, row).runAsync({ args: { on: "now" }, toolContext })).rejects.toThrow(
      "The arguments no longer mean what was approved; the tool was not run.",
    );
    expect(ran).toEqual([]);
  });

  it("of a tool of another class runs with its arguments as they are, or not at all", async () => {
    class Tool extends BaseTool {
      readonly #ran: unknown[] = [];
      get ran() {
        return this.#ran;
      }
      override async runAsync({ args }: { args: Record<string, unknown> }) {
        return void this.#ran.push(args);
      }
    }
    const tool = new Tool({ name: "delete_file", description: "Deletes." });
    const bound = bindTool(tool, asked(tool, { file: "a" }));
    await expect(bound.runAsync({ args: { file: "b" }, toolContext })).rejects.toThrow("were changed");
    await bound.runAsync({ args: { file: "a" }, toolContext });
    expect(tool.ran).toEqual([{ file: "a" }]);
  });

  it("of a tool whose runAsync was replaced is checked all the same", async () => {
    const { tool } = toolWith(z.object({ to: z.string() }));
    const ran: unknown[] = [];
    tool.runAsync = async ({ args }) => void ran.push(args);
    const bound = bindTool(tool, asked(tool, { to: "Hanako" }));
    await expect(bound.runAsync({ args: { to: "Mallory" }, toolContext })).rejects.toThrow("were changed");
    await bound.runAsync({ args: { to: "Hanako" }, toolContext });
    expect(ran).toEqual([{ to: "Hanako" }]);
  });

  it("of a subclass with private fields runs only if its schema gives the same value again", async () => {
    class Counting extends FunctionTool<z.ZodObject> {
      #runs = 0;
      override async runAsync(request: Parameters<FunctionTool["runAsync"]>[0]) {
        this.#runs += 1;
        return { runs: this.#runs, result: await super.runAsync(request) };
      }
    }
    const { tool, ran } = toolWith(changing, Counting as typeof FunctionTool);
    await bindTool(tool, asked(tool, { to: "Hanako" })).runAsync({ args: { to: "Hanako" }, toolContext });
    expect(ran).toEqual([{ amount: 5000, to: "Hanako!" }]);
  });
});

describe("whatever the schema, the arguments and the callbacks do", () => {
  const field = fc.constantFrom<z.ZodType>(
    z.number().default(7),
    z.coerce.number(),
    z.string().transform((text) => text.toUpperCase()),
    z.coerce.date(),
    z.coerce.bigint(),
    z.array(z.coerce.string()).default(["x"]),
    z.object({ deep: z.string().default("d") }).default({ deep: "e" }),
    z.any(),
  );
  const schema = fc.dictionary(fc.constantFrom("a", "b", "c"), field, { minKeys: 1 }).map((shape) => z.object(shape));
  const args = fc.dictionary(fc.constantFrom("a", "b", "c", "d"), fc.jsonValue()) as fc.Arbitrary<JsonObject>;

  it("the tool function gets what was shown, or it does not run", async () => {
    await fc.assert(
      fc.asyncProperty(schema, args, fc.option(args), async (parameters, sent, altered) => {
        const { tool, ran } = toolWith(parameters);
        let row: ReturnType<typeof asked>;
        try {
          row = asked(tool, sent);
        } catch {
          return; // arguments that the tool refuses are not asked about
        }
        await bindTool(tool, row)
          .runAsync({ args: altered ?? sent, toolContext })
          .catch(() => undefined);
        for (const got of ran) expect(canonicalJson(shownArguments(got as JsonObject))).toBe(row.input);
        if (altered === null) expect(ran).toHaveLength(1);
      }),
      { numRuns: 300 },
    );
  });
});
