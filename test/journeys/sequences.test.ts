import { LlmAgent } from "@google/adk";
import { blocked, call, fail, finish, type Piece, text, thought, usage } from "adk-stream-protocol/gemini";
import type { UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import {
  type Ai,
  majors,
  partStates,
  type Predicate,
  stockChat,
  toolParts,
  validateOn,
} from "../fixtures/stock-chat.ts";
import {
  afterTools,
  answer as answerRaw,
  asked,
  get,
  openWorld,
  payRules,
  say,
  sequence,
  states,
  textOf,
  type World,
  type WorldOptions,
} from "../fixtures/world.ts";

type Chat = ReturnType<typeof stockChat>;
interface Actor extends Chat {
  ai: Ai;
  world: World;
}

/** What a person does next. */
type Act = (actor: Actor) => Promise<unknown>;

interface Story {
  name: string;
  says: string;
  acts?: readonly Act[];
  /** One line per response, and so the number of requests. */
  expect: readonly string[];
  payments?: World["payments"];
  modelCalls: number;
  /** The states that `data-approval` went through in the last response. */
  states?: readonly string[];
  world?: WorldOptions;
  predicate?: Predicate;
  /** A part of what the chat's `onError` is told. */
  error?: string;
  /** How the server sees the first reply in the end, where it knows more than the chat. */
  firstReply?: readonly string[];
}

const done = "finish [DONE]";
const paid = (amount: number, recipient: string) => ({ amount, recipient });

/** Answers every open question of the last message, in order. */
const answer =
  (...decisions: boolean[]): Act =>
  async ({ ai, chat }) => {
    const open = toolParts(ai, chat.lastMessage!).filter(({ state }) => state === "approval-requested");
    expect(open).toHaveLength(decisions.length);
    for (const [index, approved] of decisions.entries())
      await chat.addToolApprovalResponse({ id: open[index]!.approval!.id, approved });
  };

/** A browser tool's result. */
const result =
  (tool: string, output: unknown): Act =>
  async ({ ai, chat }) => {
    const { toolCallId } = toolParts(ai, chat.lastMessage!).at(-1)!;
    await chat.addToolOutput({ tool, toolCallId, output });
  };

const failure =
  (tool: string, errorText: string): Act =>
  async ({ ai, chat }) => {
    const { toolCallId } = toolParts(ai, chat.lastMessage!).at(-1)!;
    await chat.addToolOutput({ state: "output-error", tool, toolCallId, errorText } as never);
  };

/** Sends what the stock predicates do not: the page ran a tool whose yes was sent before. */
const send: Act = ({ chat }) => chat.sendMessage();
const type =
  (words: string): Act =>
  ({ chat }) =>
    chat.sendMessage({ text: words });

const saying = (...pieces: Piece[]): WorldOptions => ({ rules: [{ say: pieces }] });

/** A payment clerk behind a receptionist: the gated tool belongs to a sub-agent that is transferred to. */
const clerk: WorldOptions = {
  rules: [
    { when: ({ system }) => system.includes("Transfer."), say: [call("transfer_to_agent", { agentName: "clerk" })] },
    { when: ({ responses }) => responses.some(({ name }) => name === "process_payment"), say: afterTools.say },
    { say: [call("process_payment", { amount: 50, recipient: "Hanako" })] },
  ],
  agent: ({ model, tools }) =>
    new LlmAgent({
      name: "receptionist",
      model: model(),
      instruction: "Transfer.",
      subAgents: [new LlmAgent({ name: "clerk", description: "Pays.", model: model(), instruction: "Pay.", tools })],
    }),
};

const ask = `start ss tis tia tar fs ${done}`;
const askTwice = `start ss tis tia tis tia tar tar fs ${done}`;
const tell = (...outcomes: string[]) => `start ${outcomes.join(" ")} ss text fs ${done}`;

const stories: Story[] = [
  { name: "plain text", says: "hello", expect: [`start ss text fs ${done}`], modelCalls: 1 },
  {
    name: "thoughts",
    says: "think",
    world: saying(thought("Let me see. Yes."), text("It is four.")),
    expect: [`start ss reasoning text fs ${done}`],
    modelCalls: 1,
  },
  { name: "get_weather", says: "weather", expect: [`start ss tis tia toa fs ss text fs ${done}`], modelCalls: 2 },
  {
    name: "change_bgm",
    says: "music",
    acts: [result("change_bgm", { playing: 2 })],
    predicate: "tools",
    expect: [`start ss tis tia fs ${done}`, tell("toa")],
    modelCalls: 2,
  },
  {
    name: "change_bgm that fails in the page",
    says: "music",
    acts: [failure("change_bgm", "no sound card")],
    predicate: "tools",
    expect: [`start ss tis tia fs ${done}`, tell("toe")],
    modelCalls: 2,
  },
  {
    name: "get_location, approved",
    says: "where",
    acts: [answer(true), result("get_location", { latitude: 35.6 }), send],
    expect: [ask, `start ss fs ${done}`, tell("toa")],
    states: ["approved", "succeeded"],
    modelCalls: 2,
  },
  {
    name: "get_location, denied",
    says: "where",
    acts: [answer(false)],
    expect: [ask, tell("tod")],
    states: ["denied"],
    modelCalls: 2,
  },
  {
    name: "process_payment, approved",
    says: "pay",
    acts: [answer(true)],
    expect: [ask, tell("toa")],
    states: ["approved", "executing", "succeeded"],
    payments: [paid(50, "Hanako")],
    modelCalls: 2,
  },
  {
    name: "process_payment, denied",
    says: "pay",
    acts: [answer(false)],
    expect: [ask, tell("tod")],
    states: ["denied"],
    modelCalls: 2,
  },
  ...[true, false].flatMap((alice) =>
    [true, false].map((bob): Story => ({
      name: `two payments, ${alice ? "approved" : "denied"} and ${bob ? "approved" : "denied"}`,
      says: "two payments",
      acts: [answer(alice, bob)],
      expect: [askTwice, tell(alice ? "toa" : "tod", bob ? "toa" : "tod")],
      payments: [...(alice ? [paid(30, "Alice")] : []), ...(bob ? [paid(40, "Bob")] : [])],
      modelCalls: 2,
    })),
  ),
  {
    name: "a free and a gated call in one step",
    says: "mixed",
    acts: [answer(true)],
    expect: [`start ss tis tia tis tia tar toa fs ${done}`, tell("toa")],
    payments: [paid(50, "Hanako")],
    modelCalls: 2,
  },
  {
    name: "a payment above the balance",
    says: "too much",
    acts: [answer(true)],
    expect: [ask, tell("toe")],
    states: ["approved", "executing", "failed"],
    modelCalls: 2,
  },
  {
    name: "the model is over its quota",
    says: "hello",
    world: saying(fail(429, "Quota exceeded.")),
    expect: ["start error [DONE]"],
    error: "(429)",
    modelCalls: 1,
  },
  {
    name: "the model fails",
    says: "hello",
    world: saying(fail(500, "Internal.")),
    expect: ["start error [DONE]"],
    error: "(500)",
    modelCalls: 1,
  },
  {
    name: "the model fails in the middle of a sentence",
    says: "hello",
    world: saying(text("One two three."), fail(500, "Internal.")),
    expect: ["start ss text fs error [DONE]"],
    error: "INTERNAL",
    modelCalls: 1,
  },
  {
    name: "the model fails after the payment, and is asked something else",
    says: "pay",
    acts: [answer(true), type("hello")],
    world: { rules: [{ when: ({ request }) => request === 2, say: [fail(500, "Internal.")] }, ...payRules] },
    expect: [ask, "start toa error [DONE]", `start ss text fs ${done}`],
    error: "(500)",
    payments: [paid(50, "Hanako")],
    modelCalls: 3,
  },
  {
    name: "one payment after another",
    says: "pay Alice, then Bob",
    acts: [answer(true), answer(true)],
    world: {
      rules: [
        {
          when: ({ responses }) => responses[0]?.args["recipient"] === "Alice",
          say: [call("process_payment", { amount: 40, recipient: "Bob" })],
        },
        afterTools,
        { say: [text("First Alice."), call("process_payment", { amount: 30, recipient: "Alice" })] },
      ],
    },
    expect: [`start ss text tis tia tar fs ${done}`, `start toa ss tis tia tar fs ${done}`, tell("toa")],
    payments: [paid(30, "Alice"), paid(40, "Bob")],
    modelCalls: 3,
  },
  {
    name: "the prompt is blocked",
    says: "hello",
    world: saying(blocked("SAFETY")),
    expect: ["start error [DONE]"],
    error: "safety filters",
    modelCalls: 1,
  },
  {
    name: "the answer is cut by a filter",
    says: "hello",
    world: saying(text("I would say."), finish("SAFETY")),
    expect: [`start ss text fs ${done}`],
    modelCalls: 1,
  },
  {
    name: "new text while a question is open",
    says: "pay",
    acts: [type("hello")],
    expect: [ask, `start ss text fs ${done}`],
    states: ["cancelled"],
    modelCalls: 2,
    // `ai@6` has no chunk for a question that nobody answered; the notice says it to the chat.
    firstReply: ["step-start", "tool-process_payment:output-denied", "data-approval"],
  },
  {
    name: "a gated tool of a sub-agent, approved",
    says: "go",
    acts: [answer(true)],
    world: clerk,
    expect: [`start ss tis tia toa fs ss tis tia tar fs ${done}`, tell("toa")],
    payments: [paid(50, "Hanako")],
    modelCalls: 3,
  },
  {
    name: "a gated tool of a sub-agent, denied",
    says: "go",
    acts: [answer(false)],
    world: clerk,
    expect: [`start ss tis tia toa fs ss tis tia tar fs ${done}`, tell("tod")],
    modelCalls: 3,
  },
];

for (const [major, ai] of majors)
  describe(`the sequences of a chat on stock ${major}`, () => {
    it.each(stories)("$name", async (story) => {
      const world = await openWorld(story.world);
      const actor: Actor = { ...stockChat(ai, world, { predicate: story.predicate }), ai, world };
      await actor.chat.sendMessage({ text: story.says });
      for (const act of story.acts ?? []) {
        await actor.settled();
        await act(actor);
      }
      const messages = await actor.settled();
      const replies = await actor.replies();
      expect(replies.map(sequence)).toEqual(story.expect);
      expect(actor.requests).toHaveLength(story.expect.length);
      expect(actor.errors.map(({ message }) => message)).toEqual(
        story.error === undefined ? [] : [expect.stringContaining(story.error)],
      );
      expect(world.payments).toEqual(story.payments ?? []);
      expect(world.gemini.requests).toHaveLength(story.modelCalls);
      expect(world.gemini.requests.flatMap(({ pairingErrors }) => pairingErrors)).toEqual([]);
      if (story.states) expect(states(replies.at(-1)!)).toEqual(story.states);

      const turns = messages.filter(({ role }) => role === "user").length;
      expect(messages.map(({ role }) => role)).toEqual(
        Array.from({ length: turns }, () => ["user", "assistant"]).flat(),
      );
      for (const [index, { chunks }] of replies.entries()) await validateReply(ai, chunks, actor.requests[index]!);
      await ai.validateUIMessages({ messages });
      const { body } = await get(world, "/stream/chat-1/messages");
      await ai.validateUIMessages({ messages: body.messages });
      const seen = messages.map(partStates);
      expect(body.messages.map(partStates)).toEqual(story.firstReply ? seen.with(1, [...story.firstReply]) : seen);
    });
  });

describe("a chat that sends by itself after answers and after results", () => {
  it.each(stories)("sends nothing twice: $name", async (story) => {
    const world = await openWorld(story.world);
    const [, ai] = majors[1];
    const actor: Actor = { ...stockChat(ai, world, { predicate: "either" }), ai, world };
    await actor.chat.sendMessage({ text: story.says });
    for (const act of story.acts ?? []) {
      await actor.settled();
      await act(actor);
    }
    await actor.settled();
    expect((await actor.replies()).map(sequence)).toEqual(story.expect);
    expect(world.payments).toEqual(story.payments ?? []);
  });
});

/** Each response on top of the message the client sent, as a stock chat reads it. */
async function validateReply(
  ai: Ai,
  chunks: Parameters<typeof validateOn>[1],
  request: Record<string, unknown>,
): Promise<void> {
  const sent = (request["messages"] as UIMessage[]).at(-1)!;
  await validateOn(
    ai,
    chunks.filter(({ type: kind }) => kind !== "error"),
    sent.role === "assistant" ? sent : undefined,
  );
}

describe("the end of a reply", () => {
  const counts = {
    promptTokenCount: 11,
    candidatesTokenCount: 7,
    thoughtsTokenCount: 2,
    cachedContentTokenCount: 3,
    totalTokenCount: 20,
  };
  const counted = { inputTokens: 11, outputTokens: 9, totalTokens: 20, reasoningTokens: 2, cachedInputTokens: 3 };

  it("carries usage in AI SDK's names and the model's version", async () => {
    const world = await openWorld(saying(thought("Hm."), text("Four."), usage(counts)));
    expect((await say(world, "hello")).chunks.at(-1)).toEqual({
      type: "finish",
      finishReason: "stop",
      messageMetadata: { usage: counted, modelVersion: "gemini-2.5-flash" },
    });
  });

  it("counts every model call of the response, and only those", async () => {
    const world = await openWorld({
      rules: [
        { when: afterTools.when!, say: [text("Done."), usage(counts)] },
        { when: /weather/, say: [call("get_weather", { location: "Tokyo" }), usage(counts)] },
        { when: /pay/, say: [call("process_payment", { amount: 50, recipient: "Hanako" }), usage(counts)] },
      ],
    });
    const twice = { inputTokens: 22, outputTokens: 18, totalTokens: 40, reasoningTokens: 4, cachedInputTokens: 6 };
    expect((await say(world, "weather")).chunks.at(-1)).toMatchObject({ messageMetadata: { usage: twice } });
    const question = await say(world, "pay");
    expect(question.chunks.at(-1)).toMatchObject({ messageMetadata: { usage: counted } });
    const reply = await answerRaw(world, [{ ...asked(question), approved: true }]);
    expect(reply.chunks.at(-1)).toMatchObject({
      messageMetadata: { usage: counted, modelVersion: "gemini-2.5-flash" },
    });
  });

  it.each([
    ["STOP", "stop"],
    ["MAX_TOKENS", "length"],
    ["SAFETY", "content-filter"],
    ["PROHIBITED_CONTENT", "content-filter"],
    ["OTHER", "other"],
  ] as const)("says %s in AI SDK's words: %s", async (reason, finishReason) => {
    const world = await openWorld(saying(text("Well."), finish(reason)));
    expect((await say(world, "hello")).chunks.at(-1)).toMatchObject({ type: "finish", finishReason });
  });

  it("says tool-calls while a call waits for somebody, and goes on when the last one is settled", async () => {
    const world = await openWorld();
    const question = await say(world, "two payments");
    expect(question.chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "tool-calls" });
    const half = await answerRaw(world, [{ ...asked(question, 1), approved: true }]);
    expect(sequence(half)).toBe(`start toa ${done}`);
    expect(half.chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "tool-calls" });
    expect(world.gemini.requests).toHaveLength(1);
    const whole = await answerRaw(world, [{ ...asked(question, 0), approved: false }]);
    expect(sequence(whole)).toBe(tell("tod"));
    expect(whole.chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "stop" });
    // The model hears the responses in the order of its calls, whatever order they were answered in.
    expect(
      world.gemini.requests[1]!.responses.map(({ args, response }) => [
        args["recipient"],
        response["status"] ?? response["success"],
      ]),
    ).toEqual([
      ["Alice", "denied"],
      ["Bob", true],
    ]);
    expect(textOf(whole)).toContain("rejected");
    expect(world.payments).toEqual([paid(40, "Bob")]);
  });
});
