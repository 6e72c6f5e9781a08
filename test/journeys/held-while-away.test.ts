/** A call that is to be held while the store fails or the turn is stopped: no question and no agent is left behind. */
import { AgentTool, FunctionTool, LlmAgent } from "@google/adk";
import { BridgeError } from "adk-stream-protocol/protocol";
import type { Store } from "adk-stream-protocol/stores";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { call, gate, text } from "adk-stream-protocol/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { newApproval } from "../fixtures/approvals.ts";
import { holdTimers } from "../fixtures/hold-timers.ts";
import { expectSound } from "../fixtures/sound.ts";
import { answer, asked, idle, openWorld, post, say, textOf, type World } from "../fixtures/world.ts";

/** The words of a message that makes the model call the tool itself, or an agent that calls it. */
const kinds = { tool: "pay", agent: "let pay" } as const;
type Kind = keyof typeof kinds;

/** A world in which the agent pays, or has a helper pay, on a store with some methods of its own. */
async function open(own: (store: Store) => Partial<Store>) {
  const paid: number[] = [];
  const tools = [
    new FunctionTool({
      name: "pay",
      description: "Pays.",
      requireConfirmation: true,
      parameters: z.object({ amount: z.number() }),
      execute: ({ amount }) => ({ paid: paid.push(amount) }),
    }),
  ];
  const world = await openWorld({
    rules: [
      { when: ({ responses, fresh }) => !fresh && responses.length > 0, say: [text("Noted.")] },
      { when: /let pay/, say: [call("helper", { request: "pay" })] },
      { when: /pay/, say: [call("pay", { amount: 7 })] },
      { say: [text("Hello.")] },
    ],
    agent: ({ model }) => {
      const helper = new LlmAgent({ name: "helper", description: "Helps.", model: model(), tools });
      const all = [...tools, new AgentTool({ agent: helper })];
      return new LlmAgent({ name: "root_agent", model: model(), instruction: "Help.", tools: all });
    },
    store(now) {
      const store = memoryStore({ now });
      return { ...store, ...own(store) };
    },
  });
  return { world, paid };
}

const rowsOf = async (world: World): Promise<string[]> =>
  (await world.store.listApprovals({})).map(({ toolName, state }) => `${toolName} ${state}`);
/** The responses that the model was given last. */
const told = (world: World) => world.gemini.requests.at(-1)?.responses.map(({ response }) => response);
const away = () => new BridgeError("unavailable", "The database does not answer.", { cause: new Error("ECONNRESET") });

describe.each(Object.entries(kinds) as [Kind, string][])("a call of %s", (kind, words) => {
  const name = kind === "tool" ? "pay" : "helper";

  it("that is recorded after its turn was stopped is cancelled", async () => {
    const [begun, goOn, cancelled] = [gate(), gate(), gate()];
    const { world, paid } = await open((store) => ({
      async createApproval(...args) {
        begun.open();
        await goOn.opened;
        return store.createApproval(...args);
      },
      async move(...args) {
        const moved = await store.move(...args);
        if (args[1].event === "cancel") cancelled.open();
        return moved;
      },
    }));
    const reply = say(world, words);
    await begun.opened;
    expect((await post(world, "/stream/chat-1/stop", {})).status).toBe(200);
    await reply;
    await idle(world);
    goOn.open();
    await cancelled.opened;
    expect(await rowsOf(world)).toEqual([`${name} cancelled`]);
    expect(textOf(await say(world, "hello"))).toBe("Hello.");
    expect(paid).toEqual([]);
    await expectSound(world);
  });

  it.each(["before", "after"])(
    "that is recorded %s the store reports a failure is asked about like any other",
    async (when) => {
      let times = 0;
      const { world, paid } = await open((store) => ({
        async createApproval(...args) {
          times += 1;
          if (times > 1 || when === "before") await store.createApproval(...args);
          if (times === 1) throw away();
          return store.createApproval(...args);
        },
      }));
      const question = await say(world, words);
      await answer(world, [{ ...asked(question), approved: true, toolName: "pay" }]);
      await idle(world);
      expect(paid).toEqual([7]);
      const agents = kind === "agent" ? ["helper succeeded"] : [];
      expect(await rowsOf(world)).toEqual([...agents, "pay succeeded"]);
      await expectSound(world);
    },
  );
});

/** A store that fails once when the session of an agent is opened, and then does not cancel until `back` is called. */
function withoutHelper() {
  let isOpened = false;
  let isBack = false;
  let refused = 0;
  const own = (store: Store): Partial<Store> => ({
    async openSession(...args) {
      if (isOpened) return store.openSession(...args);
      isOpened = true;
      throw away();
    },
    async move(...args) {
      if (args[1].event !== "cancel" || isBack) return store.move(...args);
      refused += 1;
      throw away();
    },
  });
  return { own, back: () => void (isBack = true), refused: () => refused };
}

describe("an agent that cannot go on because the store is away", () => {
  it("is cancelled when the store is back, and then the model is told so", async () => {
    const store = withoutHelper();
    const { world } = await open(store.own);
    const reply = say(world, kinds.agent);
    await expect.poll(store.refused).toBe(2);
    expect(world.gemini.requests).toHaveLength(1);
    store.back();
    expect(textOf(await reply)).toBe("Noted.");
    expect(told(world)).toEqual([{ error: "The agent could not finish." }]);
    expect(await rowsOf(world)).toEqual(["helper cancelled"]);
    await expectSound(world);
  });

  it("goes on with a sweep if the store was away for long, and the model is told nothing else", async () => {
    const last = holdTimers(4000);
    const store = withoutHelper();
    const { world, paid } = await open(store.own);
    const reply = say(world, kinds.agent);
    await expect.poll(last.running, { timeout: 5000 }).toBe(1);
    last.pass();
    expect(textOf(await reply)).toBe("");
    expect(await rowsOf(world)).toEqual(["helper approved"]);
    store.back();
    world.clock.now += 30_000;
    await world.bridge.sweep();
    await idle(world);
    const [question] = await world.store.listApprovals({ state: "pending" });
    await post(world, `/approvals/${question?.id}`, { approved: true });
    await idle(world);
    expect(paid).toEqual([7]);
    expect(await rowsOf(world)).toEqual(["helper succeeded", "pay succeeded"]);
    expect(told(world)).toEqual([{ result: "Noted." }]);
    await expectSound(world);
  });

  it.each(["a sweep", "a restart"])("and was left behind by an earlier release is ended by %s, once", async (how) => {
    const { world } = await open(() => ({}));
    await say(world, "hello");
    const chat = (await world.store.findChat("local", "chat-1", "root_agent"))?.id ?? "";
    const agent = { external: true, gated: false, state: "approved", startMs: Number.POSITIVE_INFINITY } as const;
    await world.store.createApproval(newApproval({ id: "apr_1", chat, owner: "local", ...agent, innerSession: "in" }));
    const log = await world.store.read(chat);
    for (let round = 0; round < 3; round += 1) {
      if (how === "a restart") await world.restart();
      world.clock.now += 30_000;
      await world.bridge.sweep();
      await idle(world);
    }
    expect(await world.store.listApprovals({})).toMatchObject([{ state: "cancelled", told: true }]);
    expect(await world.store.read(chat)).toEqual(log);
    expect(world.gemini.requests).toHaveLength(1);
  });
});
