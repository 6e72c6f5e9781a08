import {
  BasePlugin,
  Context,
  FunctionTool,
  InvocationContext,
  LlmAgent,
  LogLevel,
  PluginManager,
  setLogLevel,
  type SingleBeforeToolCallback,
} from "@google/adk";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { askGuards } from "./ask-guards.ts";

setLogLevel(LogLevel.ERROR);

const tool = new FunctionTool({ name: "pay", description: "Pays.", parameters: z.object({}), execute: () => ({}) });

class Guard extends BasePlugin {
  readonly #answer: () => Promise<Record<string, unknown> | undefined>;
  constructor(answer: () => Promise<Record<string, unknown> | undefined>) {
    super("guard");
    this.#answer = answer;
  }
  override beforeToolCallback() {
    return this.#answer();
  }
}

function call(plugin: BasePlugin, beforeToolCallback: SingleBeforeToolCallback[]) {
  const agent = new LlmAgent({ name: "clerk", beforeToolCallback });
  const invocationContext = new InvocationContext({
    invocationId: "i-1",
    agent,
    session: { id: "s-1", appName: "app", userId: "me", state: {}, events: [], lastUpdateTime: 0 },
    pluginManager: new PluginManager([plugin]),
  });
  return { agent, tool, args: {}, context: new Context({ invocationContext, functionCallId: "c-1" }) };
}

describe("the guards of a call", () => {
  const silent = async () => undefined;

  it("are those of the plugins, then those of the agent; the first that says something is heard", async () => {
    const asked: string[] = [];
    const plugin = new Guard(async () => void asked.push("plugin"));
    const guards = [
      () => void asked.push("agent 1"),
      () => {
        asked.push("agent 2");
        return { error: "no" };
      },
      () => void asked.push("agent 3"),
    ];
    expect(await askGuards(call(plugin, guards))).toEqual({ error: "no" });
    expect(asked).toEqual(["plugin", "agent 1", "agent 2"]);
  });

  it("let a call pass by saying nothing", async () => {
    expect(await askGuards(call(new Guard(silent), [silent]))).toBeUndefined();
  });

  it("fail when one throws", async () => {
    const broken = new Guard(async () => Promise.reject(new Error("broken")));
    await expect(askGuards(call(broken, []))).rejects.toThrow("broken");
  });

  it("fail when one does not answer in time", async () => {
    const hanging = () => new Promise<undefined>(() => undefined);
    await expect(askGuards(call(new Guard(hanging), []), 5)).rejects.toThrow("it was not run");
    await expect(askGuards(call(new Guard(silent), [hanging]), 5)).rejects.toThrow("it was not run");
  });
});
