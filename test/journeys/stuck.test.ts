/** X13: something of the application hangs. The chat, `close()` and with it a shutdown wait for a limited time only. */
import { BaseToolset, type BaseTool, FunctionTool, LlmAgent, type ReadonlyContext } from "@google/adk";
import { type BridgeOptions, clientTool, createBridge, type Logger } from "adk-stream-protocol";
import type { Store } from "adk-stream-protocol/stores";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { gate } from "adk-stream-protocol/testing";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { openLiveStage } from "../fixtures/live-stage.ts";
import { chat, owner } from "../fixtures/mortal-process.ts";
import { patience } from "../fixtures/nodes.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import { asked, demoTools, openSlowWorld, openWorld, post, say, userMessage, type World } from "../fixtures/world.ts";

afterEach(() => void vi.useRealTimers());

const never = new Promise<never>(() => undefined);

/** A toolset that can be made to hang while it is listed. */
class HangingToolset extends BaseToolset {
  hangs = false;
  readonly #tools: BaseTool[];
  constructor(tools: BaseTool[] = []) {
    super([]);
    this.#tools = tools;
  }
  async getTools(_context?: ReadonlyContext): Promise<BaseTool[]> {
    return this.hangs ? never : this.#tools;
  }
  async close(): Promise<void> {}
}

const withToolset =
  (toolset: BaseToolset): NonNullable<Parameters<typeof openWorld>[0]>["agent"] =>
  ({ model, tools }) =>
    new LlmAgent({ name: "root_agent", model: model(), instruction: "Help.", tools: [...tools, toolset] });

/** The call of the browser tool that waits. */
async function waitingCall(store: Store): Promise<string> {
  const [row] = await store.listApprovals({ owner: "local" });
  return row?.toolCallId ?? "";
}
const bringResult = (world: Pick<World, "bridge">, id: string, live = false) =>
  world.bridge.submit(
    owner,
    chat,
    { type: "answers", answers: [{ id, result: { output: { done: true } } }] },
    { live },
  );

/** A logger that keeps warnings. */
function keepWarnings(): { warnings: { message: string; fields?: unknown }[]; logger: Logger } {
  const warnings: { message: string; fields?: unknown }[] = [];
  const logger = {
    info: () => {},
    error: () => {},
    warn: (message: string, fields?: unknown) => void warnings.push({ message, fields }),
  };
  return { warnings, logger };
}
const drain: Partial<BridgeOptions> = { drainMs: 50, graceMs: 20 };
const inTime = async (work: Promise<unknown>): Promise<string> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => (timer = setTimeout(() => resolve("late"), 5000 * patience)));
  return Promise.race([work.then(() => "in time"), late]).finally(() => clearTimeout(timer));
};

for (const { name, options } of storeKinds)
  describe(`a toolset that hangs, on ${name}`, () => {
    it("X13: does not keep a browser tool's result from being taken, nor the bridge from closing", async () => {
      const toolset = new HangingToolset();
      const world = await openWorld({ ...options(), agent: withToolset(toolset), bridge: drain });
      await say(world, "music");
      const id = await waitingCall(world.store);
      toolset.hangs = true;
      expect(await inTime(bringResult(world, id))).toBe("in time");
      expect(await world.store.listApprovals({ owner })).toMatchObject([{ state: "succeeded" }]);
      // The model cannot be asked now. A message ends that wait, and works again when the toolset does.
      toolset.hangs = false;
      expect((await say(world, "hello")).status).toBe(200);
      toolset.hangs = true;
      await world.bridge.submit(owner, chat, { type: "message", message: userMessage("hello") });
      expect(await inTime(world.bridge.close())).toBe("in time");
    });

    it("X13: the same over a live connection", async () => {
      const toolset = new HangingToolset();
      const stage = await openLiveStage({ ...options(), agent: withToolset(toolset), bridge: drain });
      await stage.say("music");
      const id = await waitingCall(stage.store);
      toolset.hangs = true;
      expect(await inTime(bringResult(stage, id, true))).toBe("in time");
      expect(await stage.rows()).toMatchObject([{ state: "succeeded" }]);
      expect(await inTime(stage.bridge.close())).toBe("in time");
      toolset.hangs = false;
    });
  });

describe("a browser tool of a toolset that hangs", () => {
  it("X13: has its result taken: the row says that it runs in the browser", async () => {
    const music = clientTool({
      name: "change_bgm",
      description: "Music.",
      parameters: z.object({ track: z.number() }),
    });
    const toolset = new HangingToolset([music]);
    const world = await openWorld({ tools: [], agent: withToolset(toolset), bridge: drain });
    await say(world, "music");
    const id = await waitingCall(world.store);
    toolset.hangs = true;
    expect(await inTime(bringResult(world, id))).toBe("in time");
    toolset.hangs = false;
    expect(await world.store.listApprovals({ owner })).toMatchObject([{ state: "succeeded" }]);
  });
});

describe("closing", () => {
  it("waits for a tool that ends in time, and says nothing", async () => {
    const { warnings, logger } = keepWarnings();
    const { world, started, finish } = await openSlowWorld({ bridge: { drainMs: 10_000, logger } });
    const { approvalId } = asked(await say(world, "pay"));
    await world.bridge.decide(owner, { approvalId, approved: true });
    await started;
    const closed = world.bridge.close();
    finish();
    await closed;
    expect(await world.store.getApproval(approvalId)).toMatchObject({ state: "succeeded" });
    expect(warnings).toEqual([]);
  });

  for (const { name, options } of storeKinds)
    it(`leaves a tool that takes longer than drainMs, and says which, on ${name}`, async () => {
      const { warnings, logger } = keepWarnings();
      const { world, started, finish } = await openSlowWorld({ ...options(), bridge: { ...drain, logger } });
      const { approvalId } = asked(await say(world, "pay"));
      await world.bridge.decide(owner, { approvalId, approved: true });
      await started;
      expect(await inTime(world.bridge.close())).toBe("in time");
      expect(warnings).toMatchObject([
        {
          message: expect.stringContaining("Closing has left work") as string,
          fields: { drainMs: 50, calls: [{ approval: approvalId, tool: "process_payment" }] },
        },
      ]);
      expect(JSON.stringify(warnings)).not.toContain("Hanako");
      await world.bridge.close();
      expect(warnings).toHaveLength(1);
      finish();
    });

  it("X13: does not wait for a store call that hangs, and closes live connections all the same", async () => {
    const hanging = { is: false, reached: false };
    const stage = await openLiveStage({
      bridge: drain,
      store: (now) => hangingStore(hanging, now),
    });
    await stage.say("hello");
    hanging.is = true;
    void bringResult(stage, "any", true).catch(() => undefined);
    await stage.until(() => hanging.reached);
    expect(await inTime(stage.bridge.close())).toBe("in time");
    hanging.is = false;
    await stage.until(() => stage.gemini.live.open === 0);
  });

  it("X13: does not wait for a tool without a question that hangs", async () => {
    const release = gate();
    const slow = new FunctionTool({
      name: "get_weather",
      description: "Slow.",
      parameters: z.object({ location: z.string() }),
      execute: async () => {
        await release.opened;
        return {};
      },
    });
    const world = await openWorld({ tools: [...demoTools([]).slice(0, 1), slow], bridge: drain });
    const reply = post(world, "/stream", { id: chat, messages: [userMessage("weather")], trigger: "submit-message" });
    await vi.waitFor(() => expect(world.gemini.requests).toHaveLength(1));
    expect(await inTime(world.bridge.close())).toBe("in time");
    release.open();
    await (await reply).body?.cancel().catch(() => undefined);
  });

  it("refuses a wrong drainMs by name", async () => {
    const world = await openWorld();
    const agent = new LlmAgent({ name: "root_agent", model: "gemini-2.5-flash" });
    await expect(createBridge({ agent, store: world.store, drainMs: -1 })).rejects.toThrow("The option drainMs");
  });
});

/** A store that stops answering, as one behind a network might. */
function hangingStore(state: { is: boolean; reached: boolean }, now: () => number): Store {
  return new Proxy(memoryStore({ now }), {
    get(target, property: keyof Store) {
      const operation = target[property];
      if (property !== "listApprovals") return operation;
      return (...args: Parameters<Store["listApprovals"]>) => {
        state.reached ||= state.is;
        return state.is ? never : target.listApprovals(...args);
      };
    },
  });
}
