import { FunctionTool, LongRunningFunctionTool } from "@google/adk";
import { call, gate, type Rule, text } from "adk-stream-protocol/testing";
import type { UIMessage } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { endSockets, openSocket } from "../fixtures/raw-socket.ts";
import { expectSound } from "../fixtures/sound.ts";
import { stageRules } from "../fixtures/stage.ts";
import { majors, partStates, stockChat, type Wire, wordsOf } from "../fixtures/stock-chat.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import {
  answer,
  asked,
  decide,
  demoTools,
  ledger,
  messageIdOf,
  messagesOf,
  openSlowWorld,
  openWorld,
  post,
  quiet,
  type Received,
  receive,
  say,
  sequence,
  states,
  textOf,
  userMessage,
  type World,
} from "../fixtures/world.ts";

afterEach(endSockets);

const counting: Rule[] = [...stageRules.slice(0, -1), { say: ({ request }) => [text(`Reply ${request}.`)] }];

/** What the model was sent last, one line for each part. */
function toModel(world: World, request = -1): string[] {
  const { contents } = world.gemini.requests.at(request)!;
  return contents.flatMap(({ role, parts = [] }) =>
    parts.map((part) => {
      if (part.functionCall) return `${role} calls ${part.functionCall.name}`;
      if (part.functionResponse) return `${role} returns ${JSON.stringify(part.functionResponse.response)}`;
      return `${role}: ${part.text}`;
    }),
  );
}

const textsOf = (messages: readonly UIMessage[]) => messages.map((message) => wordsOf(message));

/** Sends a message after the message with this id, as a client does that has cut its list. */
const sayAfter = async (world: World, words: string, after: UIMessage | undefined, id?: string): Promise<Received> =>
  receive(
    await post(world, "/stream", {
      id: "chat-1",
      messages: [...(after ? [after] : []), userMessage(words, id)],
      trigger: "submit-message",
    }),
  );

const again = async (world: World, more: object = {}): Promise<Received> =>
  receive(
    await post(world, "/stream", {
      id: "chat-1",
      messages: [userMessage("x")],
      trigger: "regenerate-message",
      ...more,
    }),
  );

const wires: [string, (typeof majors)[number][1], Wire][] = [
  ...majors.flatMap(([major, ai]) =>
    (["SSE", "chat wire"] as const).map((wire): (typeof wires)[number] => [`${major} over ${wire}`, ai, wire]),
  ),
  ["ai@7 over the AI SDK wire", majors[1][1], "AI SDK wire"],
];

describe.each(wires)("a stock chat of %s", (_, ai, wire) => {
  it("edits a message: page, server and model forget what came after it", async () => {
    const world = await openWorld({ rules: counting });
    const { chat, settled, errors } = stockChat(ai, world, { wire });
    for (const words of ["one", "two", "three"]) {
      await chat.sendMessage({ text: words });
      await settled();
    }
    const second = chat.messages[2]!;
    await chat.sendMessage({ text: "two, but better", messageId: second.id });
    const messages = await settled();
    expect(errors).toEqual([]);
    expect(textsOf(messages)).toEqual(["one", "Reply 1.", "two, but better", "Reply 4."]);
    const stored = await messagesOf(world);
    expect(stored.map(({ id }) => id)).toEqual(messages.map(({ id }) => id));
    expect(textsOf(stored)).toEqual(textsOf(messages));
    expect(stored[2]!.id).toBe(second.id);
    if (wire === "SSE") expect(toModel(world)).toEqual(["user: one", "model: Reply 1.", "user: two, but better"]);
    await expectSound(world);
  });

  it("makes an older reply again, by its id and by the cut list", async () => {
    const world = await openWorld({ rules: counting });
    const { chat, settled, errors } = stockChat(ai, world, { wire });
    for (const words of ["one", "two", "three"]) {
      await chat.sendMessage({ text: words });
      await settled();
    }
    await chat.regenerate({ messageId: chat.messages[3]!.id });
    await settled();
    // As assistant-ui does: it cuts the list itself and names no message.
    chat.messages = chat.messages.slice(0, 1);
    await chat.regenerate();
    const messages = await settled();
    expect(errors).toEqual([]);
    expect(textsOf(messages)).toEqual(["one", "Reply 5."]);
    expect((await messagesOf(world)).map(({ id }) => id)).toEqual(messages.map(({ id }) => id));
    if (wire === "SSE") {
      expect(toModel(world, 3)).toEqual(["user: one", "model: Reply 1.", "user: two"]);
      expect(toModel(world)).toEqual(["user: one"]);
    }
    await expectSound(world);
  });

  it("keeps a payment when its reply is made again, and the card stays truthful", async () => {
    const world = await openWorld({ rules: stageRules });
    const { chat, settled, errors } = stockChat(ai, world, { wire });
    await chat.sendMessage({ text: "pay" });
    await settled();
    const [question] = await ledger(world);
    await chat.addToolApprovalResponse({ id: question!.id, approved: true });
    await settled();
    await chat.regenerate();
    await settled();
    await chat.regenerate();
    const messages = await settled();
    expect(errors).toEqual([]);
    expect(world.payments).toHaveLength(1);
    const stored = await messagesOf(world);
    expect(stored.map(({ id }) => id)).toEqual(messages.map(({ id }) => id));
    const parts = ["step-start", "tool-process_payment:output-available", "data-approval", "step-start", "text:done"];
    expect(partStates(messages[1]!)).toEqual(parts);
    expect(partStates(stored[1]!)).toEqual(parts);
    await expectSound(world);
  });
});

it.each(["edit", "again"])("what a withdrawn reply told of an older question is told again (%s)", async (how) => {
  const world = await openWorld({ rules: counting });
  const { chat, settled, errors } = stockChat(majors[0][1], world);
  for (const words of ["pay", "hello"]) {
    await chat.sendMessage({ text: words });
    await settled();
  }
  if (how === "edit") await chat.sendMessage({ text: "hello again", messageId: chat.messages.at(-2)!.id });
  else await chat.regenerate();
  const messages = await settled();
  expect(errors).toEqual([]);
  expect(messages).toHaveLength(4);
  expect(messages[3]!.parts[0]).toMatchObject({ type: "data-approval", data: { state: "cancelled" } });
  expect((await messagesOf(world)).slice(2).map(partStates)).toEqual(messages.slice(2).map(partStates));
  await expectSound(world);
});

it("a reply with a call that waits is made again after an older call that waits, from live to SSE", async () => {
  const world = await openWorld({ rules: stageRules });
  const live = stockChat(majors[0][1], world, { wire: "chat wire", predicate: "either" });
  for (const words of ["music", "music"]) {
    await live.chat.sendMessage({ text: words });
    await live.settled();
  }
  const { chat, settled, errors } = stockChat(majors[0][1], world, { predicate: "either" });
  chat.messages = await messagesOf(world);
  await chat.sendMessage({ text: "hello" });
  await settled();
  await chat.regenerate({ messageId: chat.messages[3]!.id });
  await settled();
  expect(errors).toEqual([]);
  await expectSound(world);
});

describe.each(storeKinds)("an edit, on $name", ({ options }) => {
  it("after three turns leaves a note of the payment in the middle, once", async () => {
    const world = await openWorld({ rules: counting, ...options() });
    await say(world, "one");
    const question = asked(await say(world, "pay"));
    await answer(world, [{ ...question, approved: true }]);
    await say(world, "three");
    const note =
      'user: [context, not from the user] The earlier call process_payment({"amount":50,"recipient":"Hanako"}) ' +
      'ended as succeeded: {"success":true,"paid":50,"recipient":"Hanako"}';
    const [, reply] = await messagesOf(world);
    await sayAfter(world, "other", reply);
    expect(toModel(world)).toEqual(["user: one", "model: Reply 1.", note, "user: other"]);
    expect(textsOf(await messagesOf(world)).map((words) => words.split(" ")[0])).toEqual([
      "one",
      "Reply",
      "other",
      "Reply",
    ]);
    // A second edit, of the first message, does not lose the note and does not repeat it.
    const [first] = await messagesOf(world);
    await sayAfter(world, "first", undefined, first!.id);
    expect(toModel(world)).toEqual([note, "user: first"]);
    await world.restart();
    await say(world, "more");
    expect(toModel(world).filter((line) => line === note)).toHaveLength(1);
    expect(world.payments).toHaveLength(1);
    await expectSound(world);
  });

  it("cancels the question that waits there; a late yes decides nothing", async () => {
    const world = await openWorld({ rules: stageRules, ...options() });
    const question = asked(await say(world, "pay"));
    const [asking] = await messagesOf(world);
    expect(textOf(await sayAfter(world, "hello", undefined, asking!.id))).toBe("Hello there, friend.");
    expect(await decide(world, question.approvalId, true)).toMatchObject({ status: 409, body: { state: "cancelled" } });
    await answer(world, [{ ...question, approved: true }]);
    expect(world.payments).toEqual([]);
    expect(toModel(world)).toEqual(["user: hello"]);
    expect(textsOf(await messagesOf(world))).toEqual(["hello", "Hello there, friend."]);
    await expectSound(world);
  });

  it("while a call runs: the call ends and is reported once, in a new message and in a note", async () => {
    const { world, finish, started } = await openSlowWorld({
      rules: stageRules,
      bridge: { graceMs: 20 },
      ...options(),
    });
    const question = asked(await say(world, "pay"));
    const running = answer(world, [{ ...question, approved: true }]);
    await started;
    const [asking] = await messagesOf(world);
    await sayAfter(world, "hello", undefined, asking!.id);
    await running;
    expect(toModel(world)[0]).toContain("has not ended yet");
    finish();
    await quiet(world);
    while ((await messagesOf(world)).length < 3) await new Promise((resolve) => setImmediate(resolve));
    const messages = await messagesOf(world);
    expect(messages.map(partStates)).toEqual([["text"], ["step-start", "text:done"], ["data-approval", "step-start"]]);
    expect(messages[2]!.parts[0]).toMatchObject({ data: { state: "succeeded", output: { paid: 50 } } });
    await say(world, "hello");
    expect(toModel(world).filter((line) => line.includes('ended as succeeded: {"paid":50}'))).toHaveLength(1);
    expect(world.payments).toHaveLength(1);
    await expectSound(world);
  });
});

describe("an edit", () => {
  it("stops the reply that is being generated", async () => {
    const slow = gate();
    const started = gate();
    const free = new FunctionTool({
      name: "get_weather",
      description: "Slow.",
      parameters: z.object({ location: z.string() }),
      execute: async () => {
        started.open();
        await slow.opened;
        return { temperature: 21 };
      },
    });
    const world = await openWorld({ rules: stageRules, tools: [free] });
    const messages = [userMessage("weather", "u-1")];
    const stopped = receive(await post(world, "/stream", { id: "chat-1", messages, trigger: "submit-message" }));
    await started.opened;
    const edited = await sayAfter(world, "hello", undefined, "u-1");
    slow.open();
    expect(sequence(await stopped)).toContain("abort");
    expect(textOf(edited)).toBe("Hello there, friend.");
    expect(toModel(world)[0]).toContain("ended as interrupted");
    expect(textsOf(await messagesOf(world))).toEqual(["hello", "Hello there, friend."]);
    await expectSound(world);
  });

  it("is not what a message is that comes alone, or after what only the server wrote", async () => {
    const world = await openWorld({ rules: counting });
    await say(world, "one");
    await say(world, "two");
    expect(textsOf(await messagesOf(world))).toEqual(["one", "Reply 1.", "two", "Reply 2."]);
    const all = await messagesOf(world);
    await sayAfter(world, "three", all.at(-1));
    await sayAfter(world, "four", { ...all[0]!, id: "unknown" });
    await sayAfter(
      world,
      "five",
      (await messagesOf(world)).findLast(({ role }) => role === "user"),
    );
    expect(textsOf(await messagesOf(world)).filter((_, index) => index % 2 === 0)).toEqual([
      "one",
      "two",
      "three",
      "four",
      "five",
    ]);
  });

  it("is refused if its id belongs to a reply, and nothing is lost (X26)", async () => {
    const world = await openWorld({ rules: stageRules });
    const question = asked(await say(world, "pay"));
    await answer(world, [{ ...question, approved: true }]);
    const before = await messagesOf(world);
    const taken = await post(world, "/stream", {
      id: "chat-1",
      messages: [userMessage("mine", question.messageId)],
      trigger: "submit-message",
    });
    expect(taken.status).toBe(409);
    expect(await taken.json()).toMatchObject({ code: "conflict" });
    const socket = await openSocket(world, "?sequence=1");
    const messages = [userMessage("mine", question.messageId)];
    socket.send({ type: "message", id: "chat-1", requestId: "a", messages });
    const { controls } = await socket.until((received) => received.controls.some(({ type }) => type === "refused"));
    expect(controls.at(-1)).toMatchObject({ requestId: "a", code: "conflict" });
    const other = await openSocket(world);
    other.send({ type: "send", id: "chat-1", requestId: "b", messages });
    const received = await other.until((frames) => frames.controls.length > 0);
    expect(received.controls).toMatchObject([
      { type: "error", requestId: "b", errorText: expect.stringContaining("belongs to a reply") },
    ]);
    expect(await messagesOf(world)).toEqual(before);
  });

  it("is one edit if it comes twice", async () => {
    const world = await openWorld({ rules: counting });
    await say(world, "one");
    const [first] = await messagesOf(world);
    const [a, b] = await Promise.all([
      sayAfter(world, "two", undefined, first!.id),
      sayAfter(world, "two", undefined, first!.id),
    ]);
    expect(messageIdOf(a)).toBe(messageIdOf(b));
    expect(world.gemini.requests).toHaveLength(2);
  });

  it("mentions no call that only reads", async () => {
    const world = await openWorld({ rules: stageRules, bridge: { tools: { get_weather: { effect: "readonly" } } } });
    await say(world, "weather");
    const [first] = await messagesOf(world);
    await sayAfter(world, "hello", undefined, first!.id);
    expect(toModel(world)).toEqual(["user: hello"]);
  });
});

describe("a reply that is made again", () => {
  const kept = "start ss tis tia toa fs ss text fs finish [DONE]";

  it("keeps the results of a free call, also twice", async () => {
    const world = await openWorld({ rules: stageRules });
    await say(world, "weather");
    const [user] = await messagesOf(world);
    for (const more of [{ messages: [user] }, {}]) {
      const reply = await again(world, more);
      expect(sequence(reply)).toBe(kept);
      expect(toModel(world)).toEqual([
        "user: weather",
        "model calls get_weather",
        'user returns {"location":"Tokyo","temperature":21}',
      ]);
    }
    expect(await messagesOf(world)).toHaveLength(2);
    await expectSound(world);
  });

  it("shows its calls in the second dialect too", async () => {
    const world = await openWorld({ rules: stageRules });
    const question = asked(await say(world, "pay"));
    await answer(world, [{ ...question, approved: true }]);
    const body = { id: "chat-1", messages: [userMessage("x")], trigger: "regenerate-message" };
    const reply = await receive(await post(world, "/stream?confirmation=tool", body));
    expect(sequence(reply)).toBe(kept);
    expect(world.payments).toHaveLength(1);
  });

  it("does not make the page run a browser tool again", async () => {
    const world = await openWorld({ rules: stageRules });
    const { chat, settled, errors } = stockChat(majors[1][1], world, { predicate: "tools" });
    await chat.sendMessage({ text: "music" });
    await settled();
    const part = chat.messages.at(-1)!.parts.find((each) => "toolCallId" in each)!;
    await chat.addToolOutput({ tool: "change_bgm", toolCallId: part.toolCallId, output: { playing: 2 } });
    await settled();
    await chat.regenerate();
    const messages = await settled();
    expect(errors).toEqual([]);
    expect(messages[1]!.parts[1]).toMatchObject({ state: "output-available", providerExecuted: true });
    expect((await messagesOf(world)).map(partStates)).toEqual(messages.map(partStates));
    await expectSound(world);
  });

  it("keeps a failed call", async () => {
    const world = await openWorld({ rules: stageRules });
    const question = asked(await say(world, "too much"));
    await answer(world, [{ ...question, approved: true }]);
    const reply = await again(world);
    expect(sequence(reply)).toBe("start ss tis tia toe fs ss text fs finish [DONE]");
    expect(states(reply)).toEqual(["failed"]);
    await expectSound(world);
  });

  it("keeps what ran of a step, and lets the rest go", async () => {
    const world = await openWorld({ rules: stageRules });
    const questions = await say(world, "two payments");
    const [first, second] = [asked(questions, 0), asked(questions, 1)];
    await answer(world, [{ ...first, approved: true }]);
    const reply = await again(world);
    expect(sequence(reply)).toBe(kept);
    expect(await decide(world, second.approvalId, true)).toMatchObject({ status: 409, body: { state: "cancelled" } });
    expect(toModel(world)).toEqual([
      "user: two payments",
      "model calls process_payment",
      'user returns {"success":true,"paid":30,"recipient":"Alice"}',
    ]);
    expect(world.payments).toHaveLength(1);
    await expectSound(world);
  });

  it("keeps the free result of a step whose question goes", async () => {
    const world = await openWorld({ rules: stageRules });
    await say(world, "mixed");
    const reply = await again(world);
    expect(sequence(reply)).toBe(kept);
    expect(toModel(world).slice(1)).toEqual([
      "model calls get_weather",
      'user returns {"location":"Tokyo","temperature":21}',
    ]);
    expect((await ledger(world)).map(({ state }) => state)).toEqual(["cancelled"]);
    await expectSound(world);
  });

  it("leaves notes of what later messages did", async () => {
    const world = await openWorld({ rules: stageRules });
    const first = await say(world, "weather");
    const question = asked(await say(world, "pay"));
    await answer(world, [{ ...question, approved: true }]);
    const reply = await again(world, { messageId: messageIdOf(first) });
    expect(sequence(reply)).toBe(kept);
    expect(toModel(world)).toHaveLength(4);
    expect(toModel(world)[3]).toContain("ended as succeeded");
    expect(await messagesOf(world)).toHaveLength(2);
    expect(world.payments).toHaveLength(1);
    await expectSound(world);
  });

  it("keeps a call that waits for its report, and goes on with it", async () => {
    let begun = 0;
    const deploy = new LongRunningFunctionTool({
      name: "deploy",
      description: "Deploys.",
      parameters: z.object({}),
      execute: () => {
        begun += 1;
        return { status: "started" };
      },
    });
    const world = await openWorld({
      rules: [...stageRules.slice(0, 2), { when: /deploy/, say: [call("deploy")] }, ...stageRules.slice(2)],
      tools: [deploy, ...demoTools([])],
    });
    await say(world, "deploy");
    const reply = await again(world);
    expect(sequence(reply)).toBe(kept);
    expect(begun).toBe(1);
    const session = (await world.store.findChat("local", "chat-1", "root_agent"))!;
    const [row] = await world.store.listApprovals({ chat: session.id });
    expect(row).toMatchObject({ state: "waiting", messageId: messageIdOf(reply) });
    await world.bridge.settle("local", row!.idempotencyKey, { result: { url: "x" } });
    await quiet(world);
    const messages = await messagesOf(world);
    expect(messages).toHaveLength(2);
    expect(JSON.stringify(messages[1])).toContain('"url":"x"');
    expect(JSON.stringify(toModel(world))).toContain("ended as succeeded");
    await expectSound(world);
  });

  it("asks the stopped reply again, and keeps what it had done", async () => {
    const started = gate();
    const slow = gate();
    let runs = 0;
    const free = new FunctionTool({
      name: "get_weather",
      description: "Slow.",
      parameters: z.object({ location: z.string() }),
      execute: async () => {
        runs += 1;
        started.open();
        await slow.opened;
        return { temperature: 21 };
      },
    });
    const world = await openWorld({ rules: stageRules, tools: [free] });
    const stopped = say(world, "weather");
    await started.opened;
    await post(world, "/stream/chat-1/stop", {});
    await stopped;
    slow.open();
    expect(sequence(await again(world))).toBe("start ss tis tia toe fs ss text fs finish [DONE]");
    expect(runs).toBe(1);
    await expectSound(world);
  });
});

/** The contents of finished turns, and their texts, are kept from 50 events on (K35, K36). */
it("an edit in a long chat, and a reply that is made again, send the model nothing of what was withdrawn", async () => {
  const world = await openWorld({ rules: counting });
  for (let turn = 1; turn <= 35; turn += 1) await say(world, `message ${turn}`);
  const turns = Array.from({ length: 29 }, (_, index) => [`user: message ${index + 1}`, `model: Reply ${index + 1}.`]);
  const edited = (await messagesOf(world))[58];
  await sayAfter(world, "message 30, but better", undefined, edited?.id);
  expect(toModel(world)).toEqual([...turns.flat(), "user: message 30, but better"]);
  await again(world);
  expect(toModel(world)).toEqual([...turns.flat(), "user: message 30, but better"]);
  // Longer than it was before.
  for (let turn = 1; turn <= 8; turn += 1) await say(world, `another ${turn}`);
  const added = [37, 38, 39, 40, 41, 42, 43, 44].flatMap((request, index) => [
    `model: Reply ${request}.`,
    `user: another ${index + 1}`,
  ]);
  expect(toModel(world)).toEqual([...turns.flat(), "user: message 30, but better", ...added]);
});
