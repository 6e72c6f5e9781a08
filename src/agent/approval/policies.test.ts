import {
  type BaseTool,
  BaseToolset,
  FunctionTool,
  LlmAgent,
  LogLevel,
  type ReadonlyContext,
  setLogLevel,
} from "@google/adk";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Toolsets } from "../adk/toolsets.ts";
import { silentLogger } from "../support/index.ts";
import { Policies } from "./policies.ts";
import type { PolicyContext, PolicyOptions } from "./policy.ts";

setLogLevel(LogLevel.ERROR);

const named = (name: string) =>
  new FunctionTool({ name, description: "Works.", parameters: z.object({}), execute: () => ({}) });

/** A toolset whose tools the test changes. With `isAway` it hangs. */
class Shelf extends BaseToolset {
  isAway = false;
  tools: BaseTool[];
  constructor(names: readonly string[], prefix?: string) {
    super([], prefix);
    this.tools = names.map(named);
  }
  override async getTools(): Promise<BaseTool[]> {
    return this.isAway ? new Promise<never>(() => undefined) : this.tools;
  }
  override async close(): Promise<void> {}
}

const never = () => new Promise<never>(() => undefined);

/** Policies over an agent with a tool of its own, `pay`, and these toolsets. */
function open(options: PolicyOptions, shelves: readonly Shelf[] = [], { retryMs = 60_000 } = {}) {
  const logged: { message: string; fields: unknown }[] = [];
  const keep = (message: string, fields?: unknown) => void logged.push({ message, fields });
  const logger = { ...silentLogger, warn: keep, error: keep };
  const pay = named("pay");
  const agent = new LlmAgent({ name: "root_agent", model: "gemini-2.5-flash", tools: [pay, ...shelves] });
  const inventory = new Toolsets({ agent, logger, listMs: 30, pauseMs: 0 });
  const policies = new Policies({ ...options, inventory, logger, predicateMs: 30, retryMs });
  /** Judges a call of the tool with this name, after ADK has listed the tools for the model. */
  async function asks(name: string, args: Record<string, unknown> = {}, state: Record<string, unknown> = {}) {
    const tools = await agent.canonicalTools({} as ReadonlyContext);
    const tool = tools.find((candidate) => candidate.name === name) ?? named(name);
    return policies.wantsApproval(
      { tool, agent, args: () => args, state: () => state },
      { owner: "ann", actor: () => "ann" },
    );
  }
  return { policies, agent, pay, asks, logged };
}

describe("the policy of a tool", () => {
  it("asks always, by its arguments, or never", async () => {
    expect(await open({ tools: { pay: { confirm: true } } }).asks("pay")).toBe(true);
    expect(await open({ tools: { pay: { confirm: false } } }).asks("pay")).toBe(false);
    expect(await open({ tools: { pay: {} } }).asks("pay")).toBe(false);
    const { asks } = open({ tools: { pay: { confirm: ({ amount }) => Number(amount) > 3 } } });
    expect(await asks("pay", { amount: 5 })).toBe(true);
    expect(await asks("pay", { amount: 1 })).toBe(false);
    expect(await asks("another_tool", { amount: 5 })).toBe(false);
  });

  it("asks if it throws, and says so in the log", async () => {
    const { asks, logged } = open({ tools: { pay: { confirm: () => Promise.reject(new Error("broken")) } } });
    expect(await asks("pay")).toBe(true);
    expect(logged).toEqual([
      { message: "The policy of a tool threw; its call is held.", fields: { tool: "pay", error: "broken" } },
    ]);
  });

  it("asks if it does not decide in time", async () => {
    const { asks, logged } = open({ tools: { pay: { confirm: never } } });
    expect(await asks("pay")).toBe(true);
    expect(logged.map(({ message }) => message)).toEqual([
      "The policy of a tool did not decide in time; its call is held.",
    ]);
  });

  it.each([
    ["a string", "yes", true],
    ["nothing", undefined, false],
  ])("may return %s", async (_, value, expected) => {
    expect(await open({ tools: { pay: { confirm: () => value as unknown as boolean } } }).asks("pay")).toBe(expected);
  });

  it("knows the tool, the owner, the actor and the state of the session", async () => {
    const seen: PolicyContext[] = [];
    const { policies, agent, pay } = open({
      tools: { pay: { confirm: (_, context) => Boolean(seen.push(context)) } },
    });
    const call = { tool: pay, agent, args: () => ({}), state: () => ({ limit: 5 }) };
    await policies.wantsApproval(call, { owner: "ann", actor: () => "bob" });
    expect(seen).toEqual([{ tool: "pay", owner: "ann", actor: "bob", state: { limit: 5 } }]);
  });

  it("gets copies: what it changes stays as it was", async () => {
    const args = { to: { name: "Hanako" } };
    const state = { limits: [1] };
    const confirm = (given: Record<string, unknown>, context: PolicyContext) => {
      (given["to"] as { name: string }).name = "Mallory";
      (context.state["limits"] as number[]).push(2);
      return false;
    };
    expect(await open({ tools: { pay: { confirm } } }).asks("pay", args, state)).toBe(false);
    expect({ args, state }).toEqual({ args: { to: { name: "Hanako" } }, state: { limits: [1] } });
  });

  it("gets arguments that cannot be copied as they are shown, and asks if the state cannot be copied", async () => {
    const confirm = ({ page }: Record<string, unknown>) => page !== "https://example.com/";
    const { asks } = open({ tools: { pay: { confirm } } });
    expect(await asks("pay", { page: new URL("https://example.com") })).toBe(false);
    expect(await asks("pay", { page: "https://example.com/" }, { now: () => 1 })).toBe(true);
  });
});

describe("the policy of toolsets", () => {
  it("asks about everything that a toolset brings, and about nothing else", async () => {
    const { asks } = open({ toolsets: { confirm: true } }, [new Shelf(["read"]), new Shelf(["fs_delete"], "fs")]);
    expect(await asks("read")).toBe(true);
    expect(await asks("fs_delete")).toBe(true);
    expect(await asks("added_by_a_plugin")).toBe(true);
    expect(await asks("pay")).toBe(false);
    expect(await asks("transfer_to_agent")).toBe(false);
  });

  it("is not waived by the policy of a tool", async () => {
    const tools = { read: { confirm: () => false }, write: {} };
    const { asks } = open({ tools, toolsets: { confirm: true } }, [new Shelf(["read", "write"])]);
    expect(await asks("read")).toBe(true);
    expect(await asks("write")).toBe(true);
  });

  it("can let tools pass by their names", async () => {
    const toolsets = { confirm: (_: unknown, { tool }: PolicyContext) => !tool.startsWith("read_") };
    const { asks } = open({ toolsets }, [new Shelf(["read_file", "write_file"])]);
    expect(await asks("read_file")).toBe(false);
    expect(await asks("write_file")).toBe(true);
  });

  it("completes what `tools` says about a tool, field by field", () => {
    const tools = {
      read: { effect: "readonly" as const, timeoutMs: undefined },
      pay: { effect: "idempotent" as const },
    };
    const { policies } = open({ tools, toolsets: { effect: "opaque", timeoutMs: 5 } }, [new Shelf(["read"])]);
    expect(policies.get("read")).toEqual({ effect: "readonly", timeoutMs: 5 });
    expect(policies.get("write")).toEqual({ effect: "opaque", timeoutMs: 5 });
    expect(policies.get("pay")).toEqual({ effect: "idempotent" });
  });
});

describe("tools that no policy names", () => {
  it("run, or are asked about", async () => {
    const shelves = () => [new Shelf(["read"])];
    expect(await open({}, shelves()).asks("read")).toBe(false);
    expect(await open({ unlisted: "run" }, shelves()).asks("pay")).toBe(false);
    expect(await open({ unlisted: "confirm" }).asks("pay")).toBe(true);
    const { asks } = open({ unlisted: "confirm", tools: { pay: {} } }, shelves());
    expect(await asks("read")).toBe(true);
    expect(await asks("added_by_a_plugin")).toBe(true);
    expect(await asks("pay")).toBe(false);
    expect(await asks("transfer_to_agent")).toBe(false);
  });

  it("are those that `toolsets` decides about only if it has a `confirm`", async () => {
    const shelves = () => [new Shelf(["read"])];
    const quiet = open({ unlisted: "confirm", toolsets: { confirm: () => false } }, shelves());
    expect(await quiet.asks("read")).toBe(false);
    expect(await open({ unlisted: "confirm", toolsets: { effect: "readonly" } }, shelves()).asks("read")).toBe(true);
  });
});

describe("a name that no tool has", () => {
  it("is refused at the start, with the prefix that a toolset adds", async () => {
    const { policies } = open({ tools: { delete_file: { confirm: true } } }, [new Shelf(["fs_delete_file"], "fs")]);
    await expect(policies.start()).rejects.toThrow(
      "No agent has a tool named delete_file. A toolset of root_agent adds the prefix fs; write fs_delete_file.",
    );
  });

  it("is not looked for when all names are those of the agents' own tools", async () => {
    const shelf = new Shelf(["read"]);
    shelf.isAway = true;
    const { policies, logged } = open({ tools: { pay: { confirm: true } } }, [shelf]);
    await policies.start();
    expect(logged).toEqual([]);
  });

  it("holds calls of a toolset that cannot be listed in full, and of tools that cannot be attributed", async () => {
    const shelf = new Shelf(["fs_delete", "fs_read"], "fs");
    const other = new Shelf(["weather"]);
    shelf.isAway = true;
    const { policies, agent, logged } = open({ tools: { fs_delet: { confirm: true } } }, [shelf, other]);
    await policies.start();
    expect(logged.at(-1)).toEqual({
      message: "Toolsets could not be listed; until they can be, calls of their tools are held.",
      fields: { agents: ["root_agent"], names: ["fs_delet"] },
    });
    // ADK lists the toolset for the model. When the call comes, the toolset is away again.
    shelf.isAway = false;
    const tools = await agent.canonicalTools({} as ReadonlyContext);
    shelf.isAway = true;
    const judge = (name: string) => {
      const tool = tools.find((candidate) => candidate.name === name) ?? named(name);
      return policies.wantsApproval(
        { tool, agent, args: () => ({}), state: () => ({}) },
        { owner: "ann", actor: () => "ann" },
      );
    };
    expect(await judge("fs_read")).toBe(true);
    expect(await judge("added_by_a_plugin")).toBe(true);
    expect(await judge("weather")).toBe(false);
    expect(await judge("pay")).toBe(false);
  });

  it("holds calls of a listed toolset whose tool has almost the same name, while another is away", async () => {
    const stuck = new Shelf([]);
    stuck.isAway = true;
    const { asks } = open({ tools: { delet_file: { confirm: true } } }, [stuck, new Shelf(["delete_file", "weather"])]);
    expect(await asks("delete_file")).toBe(true);
    expect(await asks("weather")).toBe(false);
  });

  it("is right after all if the toolset brings it once it can be listed", async () => {
    const shelf = new Shelf(["fs_delete", "fs_read"], "fs");
    shelf.isAway = true;
    const { policies, asks } = open({ tools: { fs_delete: { confirm: true } } }, [shelf]);
    await policies.start();
    shelf.isAway = false;
    expect(await asks("fs_delete")).toBe(true);
    expect(await asks("fs_read")).toBe(false);
  });

  it("is an error in the log when a later listing shows it, and holds all calls of toolsets", async () => {
    const shelf = new Shelf(["fs_delete", "fs_read"], "fs");
    const other = new Shelf(["weather"]);
    shelf.isAway = true;
    const { policies, asks, logged } = open({ tools: { delete: { confirm: true } } }, [shelf, other], { retryMs: 5 });
    await policies.start();
    shelf.isAway = false;
    await expect
      .poll(() => logged.at(-1))
      .toEqual({
        message: "A policy is for no tool; calls of tools that come from toolsets are held.",
        fields: { error: expect.stringContaining("adds the prefix fs; write fs_delete.") },
      });
    for (const name of ["fs_delete", "fs_read", "weather"]) expect(await asks(name)).toBe(true);
    expect(await asks("pay")).toBe(false);
    policies.close();
  });

  it("is noticed when a server renames its tool, and forgotten when the name is back", async () => {
    const shelf = new Shelf(["delete", "read"]);
    const { policies, asks, logged } = open({ tools: { delete: { confirm: true } } }, [shelf]);
    await policies.start();
    expect(await asks("read")).toBe(false);
    shelf.tools = [named("remove"), named("read")];
    expect(await asks("remove")).toBe(true);
    expect(await asks("read")).toBe(true);
    expect(logged).toHaveLength(1);
    shelf.tools = [named("delete"), named("read")];
    expect(await asks("read")).toBe(false);
  });
});
