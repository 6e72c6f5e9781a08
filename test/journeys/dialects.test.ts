import { call, gate, pause, text } from "adk-stream-protocol/testing";
import type { UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { type Ai, majors, partStates, stockChat, toolParts, validateOn } from "../fixtures/stock-chat.ts";
import {
  afterTools,
  get,
  idle,
  openWorld,
  post,
  receive,
  type Received,
  say,
  sequence,
  payRules,
  type World,
} from "../fixtures/world.ts";

const query = "?confirmation=tool";
const ask = "start ss tis tia fs ss tis tia fs finish [DONE]";
const confirmation = "adk_request_confirmation";

/** The confirmation requests of a reply. */
function confirmations({ chunks }: Received) {
  return chunks.flatMap((chunk) =>
    chunk.type === "tool-input-available" && chunk.toolName === confirmation
      ? [{ id: chunk.toolCallId, input: chunk.input as { originalFunctionCall: { id: string } } }]
      : [],
  );
}

describe("the dialect with the confirmation as a tool call", () => {
  it("announces the call, then its confirmation in a step of its own", async () => {
    const world = await openWorld();
    const question = await say(world, "pay", { query });
    expect(sequence(question)).toBe(ask);
    expect(question.body).not.toContain("tool-approval-request");
    const [original, asking] = question.chunks.filter((chunk) => chunk.type === "tool-input-available");
    expect(original).toEqual({
      type: "tool-input-available",
      toolCallId: expect.any(String),
      toolName: "process_payment",
      input: { amount: 50, recipient: "Hanako" },
    });
    const { approvals } = (await get(world, "/approvals?chat=chat-1")).body;
    expect(asking).toEqual({
      type: "tool-input-available",
      toolCallId: approvals[0].id,
      toolName: confirmation,
      input: {
        originalFunctionCall: {
          id: original!.toolCallId,
          name: "process_payment",
          args: { amount: 50, recipient: "Hanako" },
        },
        toolConfirmation: { hint: expect.stringContaining("process_payment"), confirmed: false },
      },
    });
    for (const [, ai] of majors) await validateOn(ai, question.chunks);
  });

  it("can be the server's default, and a request can choose the other dialect", async () => {
    const world = await openWorld({ server: { confirmation: "tool" } });
    expect(sequence(await say(world, "pay"))).toBe(ask);
    const other = await say(world, "pay", { chat: "chat-2", query: "?confirmation=approval" });
    expect(sequence(other)).toBe("start ss tis tia tar fs finish [DONE]");
    const { body } = await get(world, "/stream/chat-1/messages");
    expect(partStates(body.messages.at(-1))).toContain(`tool-${confirmation}:input-available`);
  });

  it("gives all events of one log entry one id, so that ids only rise", async () => {
    const world = await openWorld();
    const { ids } = await say(world, "two payments", { query });
    expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
    expect(ids.length).toBeGreaterThan(5);
  });
});

interface Story {
  name: string;
  says: string;
  decisions: boolean[];
  expect: string[];
  payments: World["payments"];
  /** The final states of the calls themselves. */
  ends: string[];
}

const alice = { amount: 30, recipient: "Alice" };
const bob = { amount: 40, recipient: "Bob" };
const hanako = { amount: 50, recipient: "Hanako" };
const tell = (outcomes: string) => `start ${outcomes} ss text fs finish [DONE]`;
const askTwice = "start ss tis tia tis tia fs ss tis tia tis tia fs finish [DONE]";

const stories: Story[] = [
  {
    name: "a yes",
    says: "pay",
    decisions: [true],
    expect: [ask, tell("toa")],
    payments: [hanako],
    ends: ["output-available"],
  },
  { name: "a no", says: "pay", decisions: [false], expect: [ask, tell("toe")], payments: [], ends: ["output-error"] },
  {
    name: "a yes and a failure",
    says: "too much",
    decisions: [true],
    expect: [ask, tell("toe")],
    payments: [],
    ends: ["output-error"],
  },
  {
    name: "a yes and a no",
    says: "two payments",
    decisions: [true, false],
    expect: [askTwice, tell("toa toe")],
    payments: [alice],
    ends: ["output-available", "output-error"],
  },
  {
    name: "a yes and a yes",
    says: "two payments",
    decisions: [true, true],
    expect: [askTwice, tell("toa toa")],
    payments: [alice, bob],
    ends: ["output-available", "output-available"],
  },
  {
    name: "a yes and a call that needs no approval",
    says: "mixed",
    decisions: [true],
    expect: ["start ss tis tia tis tia toa fs ss tis tia fs finish [DONE]", tell("toa")],
    payments: [hanako],
    ends: ["output-available", "output-available"],
  },
  {
    name: "a no to a browser tool",
    says: "where",
    decisions: [false],
    expect: [ask, tell("toe")],
    payments: [],
    ends: ["output-error"],
  },
];

for (const [major, ai] of majors)
  describe(`the dialect with ${major}, answered with addToolOutput`, () => {
    it.each(stories)("$name", async (story) => {
      const world = await openWorld();
      const { chat, requests, replies, settled, errors } = stockChat(ai, world, { query, predicate: "tools" });
      await chat.sendMessage({ text: story.says });
      await settled();
      const open = confirmationsOf(ai, chat.lastMessage!).filter(({ state }) => state === "input-available");
      for (const [index, confirmed] of story.decisions.entries())
        await answer(chat, open[index]!.toolCallId, { confirmed });
      const messages = await settled();

      expect(errors).toEqual([]);
      expect((await replies()).map(sequence)).toEqual(story.expect);
      expect(requests).toHaveLength(2);
      expect(world.payments).toEqual(story.payments);
      expect(world.gemini.requests.flatMap(({ pairingErrors }) => pairingErrors)).toEqual([]);
      expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
      const calls = toolParts(ai, messages[1]!).filter(({ type }) => type !== `tool-${confirmation}`);
      expect(calls.map(({ state }) => state)).toEqual(story.ends);
      await checkMessages(ai, world, messages);
    });

    it("one payment after another, and the first outcome is sent once", async () => {
      const world = await openWorld({
        rules: [
          { when: ({ responses }) => responses[0]?.args["recipient"] === "Alice", say: [call("process_payment", bob)] },
          afterTools,
          { say: [call("process_payment", alice)] },
        ],
      });
      const { chat, requests, replies, settled, errors } = stockChat(ai, world, { query, predicate: "tools" });
      await chat.sendMessage({ text: "pay Alice, then Bob" });
      for (let payment = 0; payment < 2; payment++) {
        await settled();
        await answer(chat, confirmationsOf(ai, chat.lastMessage!).at(-1)!.toolCallId, { confirmed: true });
      }
      await settled();
      expect(errors).toEqual([]);
      expect((await replies()).map(sequence)).toEqual([ask, ask.replace("start", "start toa"), tell("toa")]);
      expect(requests).toHaveLength(3);
      expect(world.payments).toEqual([alice, bob]);
      await checkMessages(ai, world, chat.messages);
    });

    it("a yes to a browser tool, then its result", async () => {
      const world = await openWorld();
      const { chat, requests, replies, settled, errors } = stockChat(ai, world, { query, predicate: "tools" });
      await chat.sendMessage({ text: "where" });
      await settled();
      const [located, asking] = toolParts(ai, chat.lastMessage!);
      await answer(chat, asking!.toolCallId, { confirmed: true });
      await settled();
      await chat.addToolOutput({
        tool: "get_location",
        toolCallId: located!.toolCallId,
        output: { latitude: 35.6 },
      });
      const messages = await settled();
      expect(errors).toEqual([]);
      expect((await replies()).map(sequence)).toEqual([ask, "start ss tia fs finish [DONE]", tell("toa")]);
      expect(requests).toHaveLength(3);
      await checkMessages(ai, world, messages);
    });

    it("a yes and the result of a browser tool in one request", async () => {
      const world = await openWorld();
      const { chat, requests, replies, settled, errors } = stockChat(ai, world, { query, predicate: "tools" });
      await chat.sendMessage({ text: "where" });
      await settled();
      const [located, asking] = toolParts(ai, chat.lastMessage!);
      await chat.addToolOutput({
        tool: "get_location",
        toolCallId: located!.toolCallId,
        output: { latitude: 35.6 },
      });
      expect(requests).toHaveLength(1);
      await answer(chat, asking!.toolCallId, { confirmed: true });
      const messages = await settled();
      expect(errors).toEqual([]);
      expect((await replies()).map(sequence)).toEqual([ask, tell("toa")]);
      expect(world.gemini.requests.at(-1)!.responses[0]!.response).toEqual({ latitude: 35.6 });
      await checkMessages(ai, world, messages);
    });

    it.each([
      ["a string", "yes"],
      ["a number", 1],
      ["nothing", null],
      ["an empty object", {}],
      ["the word true", { confirmed: "true" }],
    ])("an output that is %s decides nothing, is refused once, and can be corrected", async (_name, output) => {
      const world = await openWorld();
      const { chat, requests, settled, errors } = stockChat(ai, world, { query, predicate: "tools" });
      await chat.sendMessage({ text: "pay" });
      await settled();
      const { toolCallId } = confirmationsOf(ai, chat.lastMessage!)[0]!;
      await answer(chat, toolCallId, output);
      await settled();
      expect(requests).toHaveLength(2);
      expect(errors).toHaveLength(1);
      expect(errors[0]!.message).toContain("decides nothing");
      expect((await get(world, "/approvals")).body.approvals).toMatchObject([{ state: "pending" }]);
      await answer(chat, toolCallId, { confirmed: true });
      await settled();
      expect(requests).toHaveLength(3);
      expect(world.payments).toEqual([hanako]);
    });

    it.each([true, false])("a late answer (%s) settles once and is not sent again", async (confirmed) => {
      const world = await openWorld();
      const { chat, requests, replies, settled, errors } = stockChat(ai, world, { query, predicate: "tools" });
      await chat.sendMessage({ text: "pay" });
      await settled();
      world.clock.now += 3_600_000;
      await world.bridge.sweep();
      await world.gemini.waitForEnd(2);
      await idle(world);
      await answer(chat, confirmationsOf(ai, chat.lastMessage!)[0]!.toolCallId, { confirmed });
      const messages = await settled();
      expect(errors).toEqual([]);
      expect(requests).toHaveLength(2);
      expect(sequence((await replies())[1]!)).toBe("start toe ss fs finish [DONE]");
      expect(world.gemini.requests).toHaveLength(2);
      expect(world.payments).toEqual([]);
      await ai.validateUIMessages({ messages });
    });

    it("new text while a question is open leaves a valid chat", async () => {
      const world = await openWorld();
      const { chat, replies, settled, errors } = stockChat(ai, world, { query, predicate: "tools" });
      await chat.sendMessage({ text: "pay" });
      await settled();
      await chat.sendMessage({ text: "hello" });
      const messages = await settled();
      expect(errors).toEqual([]);
      expect((await replies()).map(sequence)).toEqual([ask, "start ss text fs finish [DONE]"]);
      await ai.validateUIMessages({ messages });
      const { body } = await get(world, `/stream/chat-1/messages${query}`);
      await ai.validateUIMessages({ messages: body.messages });
      expect(partStates(body.messages[1])).toEqual([
        "step-start",
        "tool-process_payment:output-error",
        "data-approval",
        "step-start",
        `tool-${confirmation}:output-error`,
      ]);
    });
  });

describe("a turn without a reader, in the dialect", () => {
  it("settles an expired call for readers of its message", async () => {
    const { opened, open } = gate();
    const world = await openWorld({
      rules: [{ when: afterTools.when!, say: [pause(opened), text("It expired.")] }, ...payRules],
    });
    const question = await say(world, "pay", { query });
    const [asking] = confirmations(question);
    world.clock.now += 3_600_000;
    // The turn continues by itself. A reader that comes meanwhile gets it, after the earlier parts unless it has them.
    await world.bridge.sweep();
    await world.gemini.waitForRequest(2);
    const url = `${world.server.url}/stream/chat-1/stream${query}`;
    const resumed = await fetch(url);
    const tail = await fetch(url, { headers: { "last-event-id": question.ids.at(-1)!.toString() } });
    open();
    expect(sequence(await receive(tail))).toBe("start toe ss text fs finish [DONE]");
    const whole = await receive(resumed);
    expect(sequence(whole)).toBe("start ss tis tia toe fs ss tis tia toe fs toe ss text fs finish [DONE]");
    for (const [, ai] of majors) await validateOn(ai, whole.chunks);
    const { body } = await get(world, `/stream/chat-1/messages${query}`);
    expect(partStates(body.messages.at(-1))).toContain("tool-process_payment:output-error");
    expect(
      body.messages
        .at(-1)
        .parts.find(({ toolCallId }: { toolCallId: string }) => toolCallId === asking!.input.originalFunctionCall.id),
    ).toMatchObject({
      errorText: expect.stringContaining("in time"),
    });
    for (const [, ai] of majors) await ai.validateUIMessages({ messages: body.messages });
  });

  it("accepts the answer through either dialect", async () => {
    const world = await openWorld();
    const question = await say(world, "pay", { query });
    const [asking] = confirmations(question);
    const response = await post(world, `/approvals/${asking!.id}`, { approved: true });
    expect(response.status).toBe(200);
    await idle(world);
    expect(world.payments).toEqual([hanako]);
    const { body } = await get(world, `/stream/chat-1/messages${query}`);
    expect(partStates(body.messages.at(-1))).toEqual([
      "step-start",
      "tool-process_payment:output-available",
      "data-approval",
      "step-start",
      `tool-${confirmation}:output-available`,
      "step-start",
      "text:done",
    ]);
  });
});

function confirmationsOf(ai: Ai, message: UIMessage) {
  return toolParts(ai, message).filter(({ type }) => type === `tool-${confirmation}`);
}

function answer(chat: ReturnType<typeof stockChat>["chat"], toolCallId: string, output: unknown) {
  return chat.addToolOutput({ tool: confirmation, toolCallId, output });
}

async function checkMessages(ai: Ai, world: World, messages: UIMessage[]): Promise<void> {
  await ai.validateUIMessages({ messages });
  const { body } = await get(world, `/stream/chat-1/messages${query}`);
  await ai.validateUIMessages({ messages: body.messages });
  expect(body.messages.map(partStates)).toEqual(messages.map(partStates));
}
