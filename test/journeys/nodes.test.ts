/**
 * Two nodes on one database: what comes to one node is done at the node that has the chat, and every node reads the log.
 */
import { FunctionTool, LlmAgent, LogLevel, setLogLevel } from "@google/adk";
import { type Bridge, type BridgeOptions, createBridge, silentLogger } from "adk-stream-protocol";
import type { NewLogEntry, Store } from "adk-stream-protocol/stores";
import { postgresStore } from "adk-stream-protocol/stores/postgres";
import { call, gate, geminiAt, pause, type Rule, startScriptedGemini, text } from "adk-stream-protocol/testing";
import { afterEach, beforeAll, afterAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { type TestDatabase, testDatabase } from "../fixtures/postgres.ts";
import { userMessage } from "../fixtures/world.ts";

setLogLevel(LogLevel.ERROR);

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
  await database.empty();
});

const leaseMs = 1500;
/** The machine may be busy. */
const patient = { timeout: 15_000 };

type Submission = Parameters<Bridge["submit"]>[2];

interface Node {
  bridge: Bridge;
  store: Store;
  /** How often the node was told that another one has the chat. */
  refusals(): number;
  /** The process no longer renews its leases. */
  lapse(): void;
  /** The process dies: nothing of it reaches the database any more. */
  kill(): void;
}

async function openNodes(
  count: number,
  rules: readonly Rule[],
  {
    pace,
    beforePost = async () => undefined,
    before = async () => undefined,
    now,
    ...more
  }: Partial<BridgeOptions> & {
    /** A payment ends with this promise. */
    pace?: Promise<void>;
    /** Called before a node posts a request to another one. */
    beforePost?: () => Promise<void>;
    /** Called before each operation of a node's store. The first node has the index 0. */
    before?: (index: number, operation: keyof Store, args: unknown[]) => Promise<void>;
    /** The clock of the stores. Default: that of the database. */
    now?: () => number;
  } = {},
) {
  const gemini = await startScriptedGemini({ rules });
  closing.push(() => gemini.close());
  const payments: number[] = [];
  const notes: number[] = [];
  const nodes: Node[] = [];
  for (let index = 0; index < count; index += 1) {
    const store = postgresStore({ url: database.url, ...(now && { now }) });
    let dead = false;
    let lapsed = false;
    let refusals = 0;
    const holdChat: Store["holdChat"] = async (chat, ms) => {
      const lease = await store.holdChat(chat, ms);
      if (lease.node !== store.node) refusals += 1;
      return lease;
    };
    const post: Store["post"] = async (request) => {
      await beforePost();
      await store.post(request);
    };
    const mortal = new Proxy(
      { ...store, holdChat, post },
      {
        get(target, name: keyof Store) {
          const value: unknown = target[name];
          if (typeof value !== "function" || name === "now" || name === "watch" || name === "onPosted") return value;
          return (...args: unknown[]): unknown =>
            dead || (lapsed && name === "renewChats")
              ? new Promise(() => undefined)
              : before(index, name, args).then(() => (value as (...given: unknown[]) => unknown).apply(target, args));
        },
      },
    );
    const tools = [
      new FunctionTool({
        name: "pay",
        description: "Pays.",
        requireConfirmation: true,
        parameters: z.object({ amount: z.number() }),
        execute: async ({ amount }) => {
          payments.push(amount);
          await pace;
          return { paid: amount };
        },
      }),
      new FunctionTool({
        name: "note",
        description: "Notes something.",
        parameters: z.object({}),
        execute: () => ({ noted: notes.push(index) }),
      }),
    ];
    const model = geminiAt({ model: "gemini-2.5-flash", url: gemini.url });
    const agent = new LlmAgent({ name: "root_agent", model, instruction: "Help.", tools });
    const options = { agent, store: mortal, logger: silentLogger, leaseMs, sweepMs: 100, drainMs: 200, ...more };
    const bridge = await createBridge(options);
    closing.push(() => store.close());
    closing.push(() => bridge.close());
    const end = { lapse: () => void (lapsed = true), kill: () => void (dead = true) };
    nodes.push({ bridge, store, refusals: () => refusals, ...end });
  }
  return { gemini, payments, notes, nodes: nodes as [Node, Node] };
}

async function read(bridge: Bridge, reply: Awaited<ReturnType<Bridge["submit"]>>): Promise<string> {
  let said = "";
  if (!("turn" in reply)) throw new Error("There is no turn.");
  for await (const batch of bridge.read(reply))
    for (const { chunk } of batch) said += chunk.type === "text-delta" ? chunk.delta : "";
  return said;
}

const say = (bridge: Bridge, message: string) =>
  bridge.submit("alice", "chat", { type: "message", message: userMessage(message) });

async function words(bridge: Bridge): Promise<string[]> {
  const messages = await bridge.messages("alice", "chat");
  return messages.map(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : "")).join(""));
}

describe("two nodes on one database", () => {
  it("read the reply of the other, and answer its questions", async () => {
    const rules: Rule[] = [
      { when: ({ responses }) => responses.length > 0, say: [text("Paid.")] },
      { when: /pay/, say: [call("pay", { amount: 3 })] },
    ];
    const { nodes, payments } = await openNodes(2, rules);
    const [one, two] = nodes;
    await read(two.bridge, await say(one.bridge, "pay"));
    const { approvals } = await two.bridge.approvals("alice", { chat: "chat" });
    expect(approvals).toHaveLength(1);
    const approvalId = approvals[0]?.approvalId ?? "";
    expect(await two.bridge.decide("alice", { approvalId, approved: true })).toMatchObject({ outcome: "accepted" });
    expect(await one.bridge.decide("alice", { approvalId, approved: false })).toMatchObject({ outcome: "refused" });
    await expect.poll(() => words(one.bridge), patient).toEqual(["pay", "Paid."]);
    expect(payments).toEqual([3]);
  });

  it("a message that comes to the other node is posted to the node that has the chat, and stops its reply", async () => {
    const middle = gate();
    const rules: Rule[] = [
      { when: /story/, say: [text("Once upon "), pause(middle.opened)] },
      { when: /hello/, say: [text("Hello.")] },
    ];
    const { nodes } = await openNodes(2, rules);
    const [one, two] = nodes;
    const first = await say(one.bridge, "a story");
    await expect.poll(async () => (await two.bridge.position("alice", "chat")).sequence, patient).toBeGreaterThan(2);
    expect(await two.bridge.position("alice", "chat")).toMatchObject({ running: true });
    expect(await read(two.bridge, await say(two.bridge, "hello"))).toBe("Hello.");
    expect(await read(two.bridge, first)).toBe("Once upon ");
    expect(await words(one.bridge)).toEqual(["a story", "Once upon ", "hello", "Hello."]);
    middle.open();
  });

  it("an edit for a node that dies is made by the other, and is not taken for the message it replaces", async () => {
    const middle = gate();
    const rules: Rule[] = [
      { when: /story/, say: [text("Once upon "), pause(middle.opened)] },
      { when: /hello/, say: [text("Hello.")] },
    ];
    const { nodes } = await openNodes(2, rules);
    const [one, two] = nodes;
    const submit = (bridge: Bridge, message: string) =>
      bridge.submit("alice", "chat", { type: "message", message: userMessage(message, "m-1") });
    await submit(one.bridge, "a story");
    await expect.poll(async () => (await two.bridge.position("alice", "chat")).sequence, patient).toBeGreaterThan(2);
    one.kill();
    await submit(two.bridge, "hello");
    await expect.poll(() => words(two.bridge), patient).toEqual(["hello", "Hello."]);
    middle.open();
  });

  const requests: { what: string; toSubmission: (reply: string) => Submission; said: string[] }[] = [
    { what: "a message", toSubmission: () => ({ type: "message", message: userMessage("hello") }), said: ["hello"] },
    { what: "another reply", toSubmission: () => ({ type: "regenerate" }), said: [] },
    {
      what: "another reply, by the id of the reply",
      toSubmission: (reply) => ({ type: "regenerate", messageId: reply }),
      said: [],
    },
  ];
  for (const { what, toSubmission, said } of requests)
    it(`do a request once if the node that was asked dies before it answers: ${what}`, async () => {
      const middle = gate();
      const { nodes } = await openNodes(2, [{ say: [text("Once upon "), pause(middle.opened)] }], {
        leaseMs: 3000,
        before: async (index, operation) => {
          if (index !== 0 || operation !== "answerPosted") return;
          one.kill();
          await database.run("UPDATE adk_stream_protocol.session SET lease_until = 0");
          await new Promise(() => undefined);
        },
      });
      const [one, two] = nodes;
      const first = await say(one.bridge, "a story");
      if (!("turn" in first)) throw new Error("There is no turn.");
      await expect.poll(async () => (await two.bridge.position("alice", "chat")).sequence, patient).toBeGreaterThan(2);
      await two.bridge.submit("alice", "chat", toSubmission(first.turn.reply));
      middle.open();
      const replies = ["a story", "Once upon ", ...said.flatMap((message) => [message, "Once upon "])];
      await expect.poll(() => words(two.bridge), patient).toEqual(replies);
      const log = await two.store.read((await two.store.findChat("alice", "chat", "root_agent"))?.id ?? "");
      // The story, and the request. What goes on after a node has died has no message.
      expect(log.filter((entry) => entry.kind === "begin" && entry.message)).toHaveLength(2);
    });

  it("a message is answered once if the node that was asked has an older release, and dies after its reply", async () => {
    const middle = gate();
    const rules: Rule[] = [
      { when: /hello/, say: [text("Hello.")] },
      { when: /story/, say: [text("Once upon "), pause(middle.opened)] },
    ];
    const { gemini, nodes } = await openNodes(2, rules, {
      leaseMs: 3000,
      before: async (index, operation, [, entries]) => {
        if (index !== 0) return;
        if (operation === "append")
          for (const entry of entries as NewLogEntry[]) if (entry.kind === "begin") delete entry.origin?.request;
        if (operation !== "answerPosted") return;
        await expect.poll(() => words(two.bridge), patient).toContain("Hello.");
        one.kill();
        await database.run("UPDATE adk_stream_protocol.session SET lease_until = 0");
        await new Promise(() => undefined);
      },
    });
    const [one, two] = nodes;
    await say(one.bridge, "a story");
    await expect.poll(async () => (await two.bridge.position("alice", "chat")).sequence, patient).toBeGreaterThan(2);
    expect(await read(two.bridge, await say(two.bridge, "hello"))).toBe("Hello.");
    expect(await words(two.bridge)).toEqual(["a story", "Once upon ", "hello", "Hello."]);
    expect(gemini.requests).toHaveLength(2);
    middle.open();
  });

  it("a turn of a lease that was lost writes nothing when its node has the chat again", async () => {
    const middle = gate();
    const rules: Rule[] = [
      { when: /story/, say: [text("Once upon "), pause(middle.opened), text("a time.")] },
      { when: /hello/, say: [text("Hello.")] },
    ];
    const { nodes } = await openNodes(2, rules);
    const [one, two] = nodes;
    await say(one.bridge, "a story");
    await expect.poll(async () => (await two.bridge.position("alice", "chat")).sequence, patient).toBeGreaterThan(2);
    // As if the process had been paused: another node has had the chat meanwhile.
    await database.run("UPDATE adk_stream_protocol.session SET lease_node = NULL, lease_fence = lease_fence + 1");
    await say(one.bridge, "hello");
    middle.open();
    await expect.poll(() => words(one.bridge), patient).toContain("Hello.");
    const chat = await one.store.findChat("alice", "chat", "root_agent");
    const log = await one.store.read(chat?.id ?? "");
    const edges = log.flatMap(({ kind }) => (kind === "begin" || kind === "end" ? [kind] : []));
    expect(edges).toEqual(edges.map((_, index) => (index % 2 === 0 ? "begin" : "end")));
  });

  it("stop and delete reach the node that has the chat", async () => {
    const middle = gate();
    const { nodes } = await openNodes(2, [{ say: [text("Once upon "), pause(middle.opened)] }]);
    const [one, two] = nodes;
    const first = await say(one.bridge, "a story");
    await expect.poll(async () => (await two.bridge.position("alice", "chat")).sequence, patient).toBeGreaterThan(2);
    expect(await two.bridge.stop("alice", "chat")).toBe(true);
    expect(await read(two.bridge, first)).toBe("Once upon ");
    await say(one.bridge, "another");
    await expect.poll(async () => (await two.bridge.position("alice", "chat")).running, patient).toBe(true);
    await two.bridge.chats.delete("alice", "chat");
    await expect(one.bridge.messages("alice", "chat")).rejects.toThrow("There is no chat chat here.");
    middle.open();
  });

  it("stop reaches a turn that is not in the log yet", async () => {
    const [beginning, paying] = [gate(), gate()];
    const rules: Rule[] = [
      { when: ({ responses }) => responses.length > 0, say: [text("Paid.")] },
      { when: /pay/, say: [call("pay", { amount: 3 })] },
    ];
    let isDecided = false;
    const { nodes, payments, gemini } = await openNodes(2, rules, {
      pace: paying.opened,
      beforePost: async () => beginning.open(),
      before: async (index, operation) => {
        if (index === 0 && operation === "append" && isDecided) await beginning.opened;
      },
    });
    const [one, two] = nodes;
    await read(one.bridge, await say(one.bridge, "pay"));
    const [question] = (await one.bridge.approvals("alice", { state: "pending" })).approvals;
    isDecided = true;
    await one.bridge.decide("alice", { approvalId: question?.id ?? "", approved: true });
    await expect.poll(() => payments).toEqual([3]);
    expect(await two.bridge.stop("alice", "chat")).toBe(true);
    paying.open();
    await expect
      .poll(async () => (await one.bridge.approvals("alice", { chat: "chat" })).approvals, patient)
      .toMatchObject([{ state: "succeeded" }]);
    expect(gemini.requests).toHaveLength(1);
  });

  it("stop holds for a reply whose node has died: no other node goes on with it", async () => {
    const [middle, again] = [gate(), gate()];
    const clock = { now: 1_800_000_000_000 };
    let spoken = 0;
    const rules: Rule[] = [
      {
        say: () => {
          spoken += 1;
          return spoken === 1 ? [text("Once upon "), pause(middle.opened)] : [pause(again.opened), text("Again.")];
        },
      },
    ];
    const { nodes } = await openNodes(2, rules, { leaseMs: 60_000, sweepMs: 0, now: () => clock.now });
    const [one, two] = nodes;
    await say(one.bridge, "a story");
    await expect.poll(async () => (await two.bridge.position("alice", "chat")).sequence, patient).toBeGreaterThan(2);
    one.kill();
    clock.now += 61_000;
    expect(await two.bridge.stop("alice", "chat")).toBe(true);
    again.open();
    middle.open();
    expect(await two.bridge.position("alice", "chat")).toMatchObject({ running: false });
    expect((await words(two.bridge)).join()).not.toContain("Again.");
  });

  it("go on with the sentence of a node that dies, and each word is there once", async () => {
    const middle = gate();
    let spoken = 0;
    const rules: Rule[] = [
      {
        say: () => {
          spoken += 1;
          return spoken === 1 ? [text("Once upon "), pause(middle.opened)] : [text("Once upon a time.")];
        },
      },
    ];
    const { nodes } = await openNodes(2, rules);
    const [one, two] = nodes;
    const reply = await say(one.bridge, "a story");
    await expect.poll(async () => (await two.bridge.position("alice", "chat")).sequence, patient).toBeGreaterThan(2);
    const cut = read(two.bridge, { ...(await two.bridge.resume("alice", "chat")), chatName: "chat" } as typeof reply);
    one.kill();
    await expect(cut).rejects.toThrow("The server stopped in the middle of this reply.");
    await expect.poll(() => words(two.bridge), patient).toEqual(["a story", "Once upon a time."]);
    middle.open();
  });

  for (const { what, end } of [
    { what: "dies", end: (node: Node) => node.kill() },
    { what: "is paused", end: (node: Node) => node.lapse() },
  ])
    it(`go on with the turn of a node that ${what} with the first sweep after one lease time, and not before`, async () => {
      const middle = gate();
      const clock = { now: 1_800_000_000_000 };
      let spoken = 0;
      const rules: Rule[] = [
        {
          say: () => {
            spoken += 1;
            return spoken === 1 ? [text("Once upon "), pause(middle.opened), text("no time.")] : [text("A story.")];
          },
        },
      ];
      const lease = 60_000;
      const { nodes } = await openNodes(2, rules, { leaseMs: lease, sweepMs: 0, now: () => clock.now });
      const [one, two] = nodes;
      await say(one.bridge, "a story");
      await expect.poll(async () => (await two.bridge.position("alice", "chat")).sequence, patient).toBeGreaterThan(2);
      const chat = (await two.store.findChat("alice", "chat", "root_agent"))?.id ?? "";
      // It has just renewed its lease, so the others have to wait as long as they ever have to.
      await one.store.renewChats(lease);
      end(one);
      const [died, { sequence }] = [clock.now, await two.bridge.position("alice", "chat")];
      clock.now = died + lease - 1;
      await two.bridge.sweep();
      expect(await two.bridge.position("alice", "chat")).toEqual({ sequence, running: true });
      clock.now = died + lease;
      await two.bridge.sweep();
      await expect.poll(() => words(two.bridge), patient).toEqual(["a story", "A story."]);
      const before = await two.store.read(chat);
      expect(before.find((entry) => entry.sequence > sequence)?.at).toBe(died + lease);
      // What the first node still wants to say is refused.
      middle.open();
      await one.bridge.close();
      expect(await two.store.read(chat)).toEqual(before);
    });

  it("go on with the turn of a node that dies also while the outcome of a call is being looked up", async () => {
    const [paying, middle] = [gate(), gate()];
    const clock = { now: 1_800_000_000_000 };
    let told = 0;
    const rules: Rule[] = [
      { when: /pay/, say: [call("pay", { amount: 3 })] },
      {
        say: () => {
          told += 1;
          return told === 1 ? [text("Once upon "), pause(middle.opened)] : [text("A story.")];
        },
      },
    ];
    let looksUp = false;
    const lookup = async () => {
      looksUp = true;
      await paying.opened;
      return undefined;
    };
    const { nodes, payments } = await openNodes(2, rules, {
      ...{ leaseMs: 60_000, graceMs: 600_000, now: () => clock.now, pace: paying.opened },
      tools: { pay: { effect: "queryable", lookup } },
    });
    const [one, two] = nodes;
    const message = userMessage("pay");
    const asking = await one.bridge.submit("alice", "payments", { type: "message", message });
    await read(one.bridge, asking);
    const [question] = (await one.bridge.approvals("alice", { state: "pending" })).approvals;
    await one.bridge.decide("alice", { approvalId: question?.id ?? "", approved: true });
    await expect.poll(() => payments).toEqual([3]);
    await say(one.bridge, "a story");
    await expect.poll(async () => (await two.bridge.position("alice", "chat")).sequence, patient).toBeGreaterThan(2);
    one.kill();
    clock.now += 61_000;
    await expect.poll(() => words(two.bridge), patient).toEqual(["a story", "A story."]);
    await expect.poll(() => looksUp, patient).toBe(true);
    paying.open();
    middle.open();
  });

  it("hand over when one stops: the other goes on at once", async () => {
    const middle = gate();
    let spoken = 0;
    const rules: Rule[] = [
      {
        say: () => {
          spoken += 1;
          return spoken === 1 ? [text("Once upon "), pause(middle.opened)] : [text("Once upon a time.")];
        },
      },
    ];
    const { nodes } = await openNodes(2, rules);
    const [one, two] = nodes;
    await say(one.bridge, "a story");
    await expect.poll(async () => (await two.bridge.position("alice", "chat")).sequence, patient).toBeGreaterThan(2);
    await one.bridge.close();
    await expect.poll(() => words(two.bridge), patient).toEqual(["a story", "Once upon a time."]);
    middle.open();
  });

  it("know a turn that the other one is about to begin", async () => {
    const found = gate();
    const rules: Rule[] = [
      // The turn is not over before the second node has found it.
      { when: ({ responses }) => responses.length > 0, say: [pause(found.opened), text("Paid.")] },
      { when: /pay/, say: [call("pay", { amount: 3 })] },
    ];
    const begin = gate();
    let isDecided = false;
    const { nodes } = await openNodes(2, rules, {
      before: async (index, operation) => {
        if (index === 0 && operation === "getMessage" && isDecided) await begin.opened;
        // The second node has found no turn in the log.
        if (index === 1 && operation === "leaseOf" && isDecided) begin.open();
      },
    });
    const [one, two] = nodes;
    await read(one.bridge, await say(one.bridge, "pay"));
    const [question] = (await one.bridge.approvals("alice", { state: "pending" })).approvals;
    isDecided = true;
    await one.bridge.decide("alice", { approvalId: question?.id ?? "", approved: true });
    const resumed = await two.bridge.resume("alice", "chat");
    begin.open();
    found.open();
    expect(resumed && (await read(two.bridge, { ...resumed, chatName: "chat" }))).toBe("Paid.");
    expect(await two.bridge.resume("alice", "chat")).toBeUndefined();
  });

  it("hand over at once also if one stops when a turn begins, and no lease counts as lost", async () => {
    const rules: Rule[] = [
      { when: ({ responses }) => responses.length > 0, say: [text("Paid.")] },
      { when: /pay/, say: [call("pay", { amount: 3 })] },
    ];
    const warnings: string[] = [];
    const stopping = gate();
    let isDecided = false;
    const { nodes, payments } = await openNodes(2, rules, {
      leaseMs: 60_000,
      logger: { ...silentLogger, warn: (warning) => void warnings.push(warning) },
      before: async (index, operation) => {
        if (index === 0 && operation === "getMessage" && isDecided) await stopping.opened;
      },
    });
    const [one, two] = nodes;
    await read(one.bridge, await say(one.bridge, "pay"));
    const [question] = (await one.bridge.approvals("alice", { state: "pending" })).approvals;
    isDecided = true;
    await one.bridge.decide("alice", { approvalId: question?.id ?? "", approved: true });
    const closed = one.bridge.close();
    await expect.poll(() => payments).toEqual([3]);
    stopping.open();
    await closed;
    const chat = await two.store.findChat("alice", "chat", "root_agent");
    expect(await two.store.leaseOf(chat?.id ?? "")).toBeUndefined();
    expect(warnings).toEqual([]);
    await say(two.bridge, "hello");
    expect(payments).toEqual([3]);
  });

  it("a node that lost its chat while it was paused writes nothing more", async () => {
    const middle = gate();
    const rules: Rule[] = [{ when: /story/, say: [text("Once upon "), pause(middle.opened), text("a time.")] }];
    const clock = { now: 1_800_000_000_000 };
    const { nodes } = await openNodes(2, rules, { leaseMs: 60_000, sweepMs: 0, now: () => clock.now });
    const [one, two] = nodes;
    await say(one.bridge, "a story");
    await expect.poll(async () => (await two.bridge.position("alice", "chat")).sequence, patient).toBeGreaterThan(2);
    // As if the lease had lapsed while the process was paused.
    clock.now += 60_000;
    const chat = (await two.store.findChat("alice", "chat", "root_agent"))?.id ?? "";
    expect(await two.store.holdChat(chat, 60_000)).toMatchObject({ node: two.store.node });
    const before = await two.store.read(chat);
    middle.open();
    await one.bridge.close();
    expect(await two.store.read(chat)).toEqual(before);
  });

  it("a node whose lease has lapsed runs no tool, and the node that took the chat runs it", async () => {
    const middle = gate();
    let asked = 0;
    const rules: Rule[] = [
      { when: ({ responses }) => responses.length > 0, say: [text("Noted.")] },
      {
        say: () => {
          asked += 1;
          return asked === 1 ? [text("Well, "), pause(middle.opened), call("note", {})] : [call("note", {})];
        },
      },
    ];
    const { nodes, notes } = await openNodes(2, rules);
    const [one, two] = nodes;
    await say(one.bridge, "note it");
    await expect.poll(async () => (await two.bridge.position("alice", "chat")).sequence, patient).toBeGreaterThan(2);
    one.lapse();
    await expect.poll(() => words(two.bridge), patient).toEqual(["note it", "Noted."]);
    middle.open();
    await one.bridge.close();
    expect(notes).toEqual([1]);
  });

  it("a question that a node can no longer show is shown by the node that took the chat, and a yes counts", async () => {
    const rules: Rule[] = [
      { when: ({ responses }) => responses.length > 0, say: [text("Paid.")] },
      { when: /pay/, say: [call("pay", { amount: 3 })] },
    ];
    const goOn = gate();
    const { nodes, payments } = await openNodes(2, rules, {
      before: async (index, operation, args) => {
        const asks = operation === "append" && JSON.stringify(args).includes("tool-approval-request");
        if (index === 0 && asks) await goOn.opened;
      },
    });
    const [one, two] = nodes;
    await say(one.bridge, "pay");
    const questions = async () => (await two.bridge.approvals("alice", { state: "pending" })).approvals;
    await expect.poll(questions, patient).toHaveLength(1);
    one.lapse();
    await expect.poll(() => two.store.openTurns(), patient).toEqual([]);
    // The first node goes on where it was paused, and ends its turn.
    goOn.open();
    await one.bridge.close();
    const [question] = await questions();
    expect(question).toMatchObject({ state: "pending" });
    await two.bridge.decide("alice", { approvalId: question?.id ?? "", approved: true });
    await expect.poll(() => words(two.bridge), patient).toEqual(["pay", "Paid."]);
    expect(payments).toEqual([3]);
  });

  it("do a request at once if the other node gives the chat back before the request is posted", async () => {
    const middle = gate();
    const rules: Rule[] = [
      { when: /story/, say: [text("Once upon "), pause(middle.opened)] },
      { when: /hello/, say: [text("Hello.")] },
    ];
    const patience = 20_000;
    const { nodes } = await openNodes(2, rules, {
      leaseMs: patience,
      beforePost: async () => {
        middle.open();
        await expect.poll(() => nodeOfChat(two.store), patient).toBeUndefined();
      },
    });
    const [one, two] = nodes;
    await say(one.bridge, "a story");
    const before = performance.now();
    expect(await read(two.bridge, await say(two.bridge, "hello"))).toBe("Hello.");
    expect(performance.now() - before).toBeLessThan(patience / 2);
  });

  it("do a request that the other node had taken when it began to stop", async () => {
    const middle = gate();
    const rules: Rule[] = [
      { when: /story/, say: [text("Once upon "), pause(middle.opened)] },
      { when: /hello/, say: [text("Hello.")] },
    ];
    let isPosted = false;
    const { nodes } = await openNodes(2, rules, {
      beforePost: async () => void (isPosted = true),
      before: async (index, operation) => {
        if (index === 0 && operation === "openChat" && isPosted) void one.bridge.close();
      },
    });
    const [one, two] = nodes;
    await say(one.bridge, "a story");
    expect(await read(two.bridge, await say(two.bridge, "hello"))).toBe("Hello.");
    expect(await words(two.bridge)).toEqual(["a story", expect.any(String), "hello", "Hello."]);
    middle.open();
  });

  it("show at once what a tool did that ended at a node that no longer has the chat", async () => {
    const [tool, middle] = [gate(), gate()];
    const rules: Rule[] = [
      { when: /story/, say: [text("Once upon "), pause(middle.opened), text("a time.")] },
      { when: ({ responses }) => responses.length > 0, say: [text("Paid.")] },
      { when: /pay/, say: [call("pay", { amount: 3 })] },
    ];
    const { nodes, payments } = await openNodes(2, rules, { pace: tool.opened, sweepMs: 0 });
    const [one, two] = nodes;
    await read(one.bridge, await say(one.bridge, "pay"));
    const { approvals } = await one.bridge.approvals("alice", { chat: "chat" });
    await one.bridge.decide("alice", { approvalId: approvals[0]?.approvalId ?? "", approved: true });
    await expect.poll(() => payments, patient).toEqual([3]);
    await one.bridge.stop("alice", "chat");
    await expect.poll(() => nodeOfChat(two.store), patient).toBeUndefined();
    await say(two.bridge, "a story");
    await expect.poll(() => nodeOfChat(two.store), patient).toBe(two.store.node);
    expect(one.refusals()).toBe(0);
    tool.open();
    await expect.poll(() => one.refusals(), patient).toBeGreaterThan(0);
    middle.open();
    await expect.poll(() => outputs(two.store), patient).toEqual([{ paid: 3 }]);
  });
});

async function nodeOfChat(store: Store): Promise<string | undefined> {
  const chat = await store.findChat("alice", "chat", "root_agent");
  return (await store.leaseOf(chat?.id ?? ""))?.node;
}

/** The outputs of tools in the log of the chat, which every page follows. */
async function outputs(store: Store): Promise<unknown[]> {
  const chat = await store.findChat("alice", "chat", "root_agent");
  const log = await store.read(chat?.id ?? "");
  return log.flatMap((entry) =>
    entry.kind === "chunk" && entry.chunk.type === "tool-output-available" ? [entry.chunk.output] : [],
  );
}
