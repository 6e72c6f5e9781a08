import { WebSocketChatTransport } from "adk-stream-protocol/client";
import { call, type Rule, text } from "adk-stream-protocol/testing";
import type { UIMessage } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import { openCutProxy } from "../fixtures/cut-proxy.ts";
import { chatOver, majors, partStates, toolParts, type Ai, type Predicate, wordsOf } from "../fixtures/stock-chat.ts";
import {
  decide,
  messagesOf,
  openSlowWorld,
  openWorld,
  quiet,
  type World,
  type WorldOptions,
} from "../fixtures/world.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** Timers that shorten the delays between attempts to reconnect. Long limits stay unchanged. */
const fastTimers = {
  setTimeout: (callback: () => void, ms: number) => setTimeout(callback, ms < 10_000 ? ms / 50 : ms),
  clearTimeout: (timer: unknown) => clearTimeout(timer as NodeJS.Timeout),
};

/** A world, a proxy whose connections can be cut, and AI SDK's chat that connects through the proxy. */
async function open(ai: Ai, options: { world?: World | WorldOptions; predicate?: Predicate; query?: string } = {}) {
  const { world: given = {} } = options;
  const world = "server" in given && "store" in given && "gemini" in given ? given : await openWorld(given);
  const proxy = await openCutProxy(world.server.url);
  closing.push(() => proxy.close());
  const transport = new WebSocketChatTransport({
    url: `${proxy.url}/live${options.query ?? ""}`,
    random: () => 0,
    timers: fastTimers,
  });
  closing.push(() => transport.close());
  return { world, proxy, transport, ...chatOver(ai, transport, { predicate: options.predicate }) };
}

type Story = Awaited<ReturnType<typeof open>>;

/** Every user message leads to a new payment. */
const payEachTime: readonly Rule[] = [
  { when: ({ fresh }) => fresh, say: [call("process_payment", { amount: 5, recipient: "Hanako" })] },
  { say: [text("It is paid, as you wished.")] },
];

const questions = (ai: Ai, messages: readonly UIMessage[]) =>
  messages.flatMap((message) =>
    toolParts(ai, message).flatMap(({ state, approval }) => (state === "approval-requested" ? [approval.id] : [])),
  );

/** What a person sees. Ids are left out because they differ each time. */
const view = (messages: readonly UIMessage[]) =>
  messages.map((message) => ({ role: message.role, states: partStates(message), text: wordsOf(message) }));

/** Checks that the chat shows what the server has, that its messages are valid, and that nothing failed. */
async function expectWhole(ai: Ai, world: World, { errors, chat }: Pick<Story, "errors" | "chat">): Promise<void> {
  await quiet(world);
  await ai.validateUIMessages({ messages: chat.messages });
  expect(errors).toEqual([]);
  const kept = await messagesOf(world);
  expect(view(chat.messages)).toEqual(view(kept));
  expect(chat.messages.map(({ id }) => id)).toEqual(kept.map(({ id }) => id));
}

describe.each(majors)("a chat of %s over one WebSocket", (_, ai) => {
  it("sends messages and shows the replies", async () => {
    const story = await open(ai);
    await story.chat.sendMessage({ text: "hello" });
    await story.chat.sendMessage({ text: "hello again" });
    expect(story.chat.messages.map(wordsOf)).toEqual([
      "hello",
      "Hello there, friend.",
      "hello again",
      "Hello there, friend.",
    ]);
    expect(story.proxy.connections).toBe(1);
    await expectWhole(ai, story.world, story);
  });

  it.each([true, false])("answers a question with approved=%s, on the same socket", async (approved) => {
    const story = await open(ai);
    const { chat, world, proxy, settled } = story;
    await chat.sendMessage({ text: "pay Hanako" });
    const [question] = questions(ai, await settled());
    await chat.addToolApprovalResponse({ id: question!, approved });
    const messages = await settled();
    expect(messages).toHaveLength(2);
    expect(partStates(messages[1]!)).toContain(`tool-process_payment:output-${approved ? "available" : "denied"}`);
    expect(wordsOf(messages[1]!)).toContain("process_payment gave");
    expect(world.payments).toHaveLength(approved ? 1 : 0);
    expect([proxy.connections, story.sends()]).toEqual([1, 2]);
    await expectWhole(ai, world, story);
  });

  it("sends one answer of two, and the other one by itself afterwards", async () => {
    const story = await open(ai);
    const { chat, world, settled } = story;
    await chat.sendMessage({ text: "two payments" });
    const [first, second] = questions(ai, await settled());
    await chat.addToolApprovalResponse({ id: first!, approved: true });
    await chat.sendMessage();
    const [, half] = await settled();
    expect(toolParts(ai, half!).map(({ state }) => state)).toEqual(["output-available", "approval-requested"]);
    await expectWhole(ai, world, story);
    await chat.addToolApprovalResponse({ id: second!, approved: false });
    const [, whole] = await settled();
    expect(toolParts(ai, whole!).map(({ state }) => state)).toEqual(["output-available", "output-denied"]);
    expect(story.sends()).toBe(3);
    await expectWhole(ai, world, story);
  });

  it.each([
    ["first", [0, 1]],
    ["last", [1, 0]],
  ])("answers two questions, the first one %s", async (_order, order) => {
    const story = await open(ai);
    const { chat, world, settled } = story;
    await chat.sendMessage({ text: "two payments" });
    const asked = questions(ai, await settled());
    expect(asked).toHaveLength(2);
    for (const index of order) await chat.addToolApprovalResponse({ id: asked[index]!, approved: index === 0 });
    const messages = await settled();
    expect(toolParts(ai, messages[1]!).map(({ state }) => state)).toEqual(["output-available", "output-denied"]);
    expect(world.payments).toEqual([{ amount: 30, recipient: "Alice" }]);
    await expectWhole(ai, world, story);
  });

  it("runs a browser tool", async () => {
    const story = await open(ai, { predicate: "tools" });
    const { chat, world, settled } = story;
    await chat.sendMessage({ text: "music" });
    const [music] = toolParts(ai, (await settled())[1]!);
    await chat.addToolOutput({ tool: "change_bgm", toolCallId: music!.toolCallId, output: { playing: 2 } });
    const messages = await settled();
    expect(wordsOf(messages[1]!)).toContain('change_bgm gave {"playing":2}');
    await expectWhole(ai, world, story);
  });

  it("shows the payment once when the same answer is given twice", async () => {
    const story = await open(ai);
    const { chat, world, settled } = story;
    await chat.sendMessage({ text: "pay Hanako" });
    const [question] = questions(ai, await settled());
    const answer = { id: question!, approved: true };
    await Promise.all([chat.addToolApprovalResponse(answer), chat.addToolApprovalResponse(answer)]);
    await settled();
    await chat.sendMessage();
    await settled();
    await quiet(world);
    expect(world.payments).toHaveLength(1);
    expect(story.errors).toEqual([]);
  });

  it("answers a card in an older message", async () => {
    const story = await open(ai);
    const { chat, world, settled } = story;
    await chat.sendMessage({ text: "pay Hanako" });
    const [question] = questions(ai, await settled());
    await chat.sendMessage({ text: "hello" });
    await settled();
    await chat.addToolApprovalResponse({ id: question!, approved: true });
    // `useChat` sends by itself only answers in the last message.
    await chat.sendMessage();
    const messages = await settled();
    expect(toolParts(ai, messages[1]!).map(({ state }) => state)).toEqual(["output-available"]);
    expect(messages).toHaveLength(4);
    expect(world.payments).toHaveLength(1);
    await expectWhole(ai, world, story);
  });

  it("stops a reply", async () => {
    const story = await open(ai);
    const { chat, world, proxy, settled } = story;
    proxy.stall();
    void chat.sendMessage({ text: "hello" });
    await chat.stop();
    proxy.release();
    await settled();
    expect(chat.status).toBe("ready");
    await chat.sendMessage({ text: "hello again" });
    expect(wordsOf(chat.messages.at(-1)!)).toBe("Hello there, friend.");
    await quiet(world);
    expect(story.errors).toEqual([]);
  });

  it("shows the outcome of a decision elsewhere together with the reply to its own answer", async () => {
    const story = await open(ai);
    const { chat, world, settled, sends } = story;
    await chat.sendMessage({ text: "two payments" });
    const [first, second] = questions(ai, await settled());
    await decide(world, first!, true);
    await quiet(world);
    expect(sends()).toBe(1);
    await chat.addToolApprovalResponse({ id: second!, approved: false });
    await chat.sendMessage();
    const messages = await settled();
    expect(messages).toHaveLength(2);
    expect(toolParts(ai, messages[1]!).map(({ state }) => state)).toEqual(["output-available", "output-denied"]);
    expect(view(messages)).toEqual(view(await messagesOf(world)));
    expect([world.payments.length, story.errors]).toEqual([1, []]);
  });

  it("finds nothing to resume when a turn of a decision elsewhere is over", async () => {
    const { chat, world, settled, errors } = await open(ai);
    await chat.sendMessage({ text: "pay Hanako" });
    const [question] = questions(ai, await settled());
    await decide(world, question!, true);
    await quiet(world);
    await chat.resumeStream();
    expect([chat.status, errors]).toEqual(["ready", []]);
    chat.messages = await messagesOf(world);
    await chat.sendMessage({ text: "hello" });
    expect(view(await settled())).toEqual(view(await messagesOf(world)));
  });

  it("resumes a running turn of a decision elsewhere, in the same message", async () => {
    const { world, started, finish } = await openSlowWorld();
    const story = await open(ai, { world });
    const { chat, settled } = story;
    await chat.sendMessage({ text: "pay Hanako" });
    const [question] = questions(ai, await settled());
    await decide(world, question!, true);
    await started;
    const resuming = chat.resumeStream();
    await story.shows(() => chat.status === "streaming");
    expect(await story.transport.reconnectToStream({ chatId: chat.id })).toBeNull();
    finish();
    await resuming;
    const messages = await settled();
    expect(messages).toHaveLength(2);
    expect(view(messages)).toEqual(view(await messagesOf(world)));
    expect([world.payments.length, story.errors]).toEqual([1, []]);
  });

  it("shows a question after a reload, and answers it", async () => {
    const story = await open(ai);
    const { world, proxy } = story;
    await story.chat.sendMessage({ text: "pay Hanako" });
    await story.settled();
    story.transport.close();
    const transport = new WebSocketChatTransport({ url: `${proxy.url}/live`, random: () => 0, timers: fastTimers });
    closing.push(() => transport.close());
    const reloaded = chatOver(ai, transport);
    reloaded.chat.messages = await messagesOf(world);
    await reloaded.chat.resumeStream();
    expect(reloaded.chat.status).toBe("ready");
    const [question] = questions(ai, reloaded.chat.messages);
    await reloaded.chat.addToolApprovalResponse({ id: question!, approved: true });
    await reloaded.settled();
    expect(world.payments).toHaveLength(1);
    await expectWhole(ai, world, reloaded);
  });
});

describe.each(majors)("a chat of %s whose connection breaks", (_, ai) => {
  it("can answer a question after it has reconnected", async () => {
    const story = await open(ai);
    const { chat, world, proxy, settled } = story;
    await chat.sendMessage({ text: "pay Hanako" });
    const [question] = questions(ai, await settled());
    proxy.cut();
    await chat.addToolApprovalResponse({ id: question!, approved: true });
    await settled();
    expect(world.payments).toHaveLength(1);
    expect(proxy.connections).toBe(2);
    await expectWhole(ai, world, story);
  });

  it("pays once when the connection breaks between the click and its confirmation", async () => {
    const story = await open(ai);
    const { chat, world, proxy, settled } = story;
    await chat.sendMessage({ text: "pay Hanako" });
    const [question] = questions(ai, await settled());
    proxy.stall();
    await chat.addToolApprovalResponse({ id: question!, approved: true });
    while (world.payments.length === 0) await new Promise((resolve) => setImmediate(resolve));
    proxy.cut();
    await settled();
    expect(world.payments).toHaveLength(1);
    await expectWhole(ai, world, story);
  });

  it("pays once when the answer was never sent", async () => {
    const story = await open(ai);
    const { chat, world, proxy, settled, transport } = story;
    await chat.sendMessage({ text: "pay Hanako" });
    const [question] = questions(ai, await settled());
    proxy.refuse(true);
    proxy.cut();
    await new Promise<void>((resolve) => {
      const unsubscribe = transport.subscribe(() => {
        if (transport.getState().status !== "reconnecting") return;
        unsubscribe();
        resolve();
      });
    });
    await chat.addToolApprovalResponse({ id: question!, approved: true });
    expect(chat.status).toBe("submitted");
    expect(world.payments).toHaveLength(0);
    proxy.refuse(false);
    await settled();
    expect(world.payments).toHaveLength(1);
    await expectWhole(ai, world, story);
  });

  it("shows the reply that ended while it was disconnected", async () => {
    const story = await open(ai);
    const { chat, world, proxy, settled } = story;
    await chat.sendMessage({ text: "pay Hanako" });
    const [question] = questions(ai, await settled());
    proxy.stall();
    await chat.addToolApprovalResponse({ id: question!, approved: true });
    while (world.payments.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await quiet(world);
    proxy.cut();
    await settled();
    expect(world.payments).toHaveLength(1);
    await expectWhole(ai, world, story);
  });

  it("sends its answer to a new server when the one that asked has died", async () => {
    const story = await open(ai);
    const { chat, world, proxy, settled } = story;
    await chat.sendMessage({ text: "pay Hanako" });
    const [question] = questions(ai, await settled());
    await world.crash();
    proxy.forwardTo(world.server.url);
    await chat.addToolApprovalResponse({ id: question!, approved: true });
    await settled();
    expect(world.payments).toHaveLength(1);
    await expectWhole(ai, world, story);
  });

  it("shows the same question in the other dialect, wherever the connection breaks", async () => {
    const story = await open(ai, { world: { rules: payEachTime }, predicate: "tools", query: "?confirmation=tool" });
    const { chat, world, proxy, settled } = story;
    let rounds = 0;
    for (let bytes = 1, wasCut = true; wasCut; bytes += 197) {
      wasCut = false;
      void proxy.cutAfter(bytes).then(() => (wasCut = true));
      await chat.sendMessage({ text: "pay" });
      const confirmation = toolParts(ai, (await settled()).at(-1)!).at(-1)!;
      await chat.addToolOutput({
        tool: "adk_request_confirmation",
        toolCallId: confirmation.toolCallId,
        output: { confirmed: true },
      });
      const messages = await settled();
      rounds += 1;
      expect(world.payments, `cut after ${bytes} bytes`).toHaveLength(rounds);
      expect(view(messages).at(-1), `cut after ${bytes} bytes`).toEqual(view(messages)[1]);
    }
    expect(rounds).toBeGreaterThan(5);
    expect(story.errors).toEqual([]);
  });

  it("sends an unconfirmed message again, and it counts once", async () => {
    const story = await open(ai);
    const { chat, world, proxy } = story;
    await chat.sendMessage({ text: "hello" });
    proxy.stall();
    const sending = chat.sendMessage({ text: "weather" });
    while ((await messagesOf(world)).length < 3) await new Promise((resolve) => setImmediate(resolve));
    await quiet(world);
    proxy.cut();
    await sending;
    expect(wordsOf(chat.messages.at(-1)!)).toContain("get_weather gave");
    await expectWhole(ai, world, story);
  });

  it("loses and repeats nothing, wherever in the server's data the connection breaks", async () => {
    const story = await open(ai);
    const { chat, world, proxy, settled } = story;
    let cuts = 0;
    for (let bytes = 1; ; bytes += 97) {
      const before = chat.messages.length;
      let wasCut = false;
      void proxy.cutAfter(bytes).then(() => (wasCut = true));
      await chat.sendMessage({ text: "weather" });
      await settled();
      expect(chat.messages).toHaveLength(before + 2);
      expect(wordsOf(chat.messages.at(-1)!), `cut after ${bytes} bytes`).toBe(wordsOf(chat.messages[1]!));
      if (!wasCut) break;
      cuts += 1;
    }
    expect(cuts).toBeGreaterThan(5);
    await expectWhole(ai, world, story);
  });

  it("pays once for each yes, wherever the connection breaks after the click", async () => {
    const story = await open(ai, { world: { rules: payEachTime } });
    const { chat, world, proxy, settled } = story;
    let rounds = 0;
    for (let bytes = 1, wasCut = true; wasCut; bytes += 131) {
      wasCut = false;
      await chat.sendMessage({ text: "pay" });
      const [question] = questions(ai, await settled());
      void proxy.cutAfter(bytes).then(() => (wasCut = true));
      await chat.addToolApprovalResponse({ id: question!, approved: true });
      const messages = await settled();
      rounds += 1;
      expect(world.payments, `cut after ${bytes} bytes`).toHaveLength(rounds);
      expect(view(messages).at(-1), `cut after ${bytes} bytes`).toEqual(view(messages)[1]);
    }
    expect(rounds).toBeGreaterThan(5);
    await expectWhole(ai, world, story);
  });
});
