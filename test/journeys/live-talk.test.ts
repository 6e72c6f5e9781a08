/** Live chats have the same questions, answers and replies as requests, over one connection that stays open. */
import {
  BaseTool,
  BaseToolset,
  FunctionTool,
  LlmAgent,
  LongRunningFunctionTool,
  type RunAsyncToolRequest,
} from "@google/adk";
import { type FunctionDeclaration, Type } from "@google/genai";
import { idempotencyKey } from "adk-stream-protocol";
import {
  call,
  cancelCalls,
  gate,
  interrupted,
  pause,
  type Piece,
  type Rule,
  text,
  thought,
  usage,
} from "adk-stream-protocol/testing";
import { BridgeError } from "adk-stream-protocol/protocol";
import { isToolUIPart } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  behindClerk,
  expectWhole,
  liveRules,
  type LiveStage,
  type LiveStageOptions,
  openLiveStage,
} from "../fixtures/live-stage.ts";
import { chat, owner } from "../fixtures/mortal-process.ts";
import { nodeCount } from "../fixtures/nodes.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import { messageIdOf, sequence, states, textOf, userMessage } from "../fixtures/world.ts";

const behaviors = ["BLOCKING", "NON_BLOCKING"] as const;

const asksOnce = "start ss tis tia tar fs finish [DONE]";
const asksTwice = "start ss tis tia tis tia tar tar fs finish [DONE]";
const goesOn = "start toa ss text fs finish [DONE]";
const denied = "start tod ss text fs finish [DONE]";
const spoken = "start ss text fs finish [DONE]";

/** A stage whose model makes these calls when the user says "go". */
const openStory = (calls: readonly Piece[], options: LiveStageOptions = {}) =>
  openLiveStage({ rules: [{ when: /^go$/, say: calls }, ...liveRules], ...options });

const answers = async (stage: LiveStage, ...decisions: boolean[]) => {
  const open = await stage.pending();
  expect(open).toHaveLength(decisions.length);
  return open.map(({ id }, index) => ({ id, approved: decisions[index]! }));
};
/** The only open question. */
const openQuestion = async (stage: LiveStage) => {
  const [open, ...more] = await stage.pending();
  expect(more).toEqual([]);
  return open!;
};
const yes = async (stage: LiveStage) => stage.answer(await answers(stage, true));
const no = async (stage: LiveStage) => stage.answer(await answers(stage, false));
const statesOf = async (stage: LiveStage) => (await stage.rows()).map(({ state }) => state);
const told = (stage: LiveStage) => stage.responses().map(({ name, response }) => [name, response]);
const rejected = { error: "The user rejected this call; it was not run.", status: "denied" };

/** How often the model was told about a payment of this amount, as a response or a note. */
const timesTold = (stage: LiveStage, amount: number) =>
  [...stage.responses().map(({ response }) => JSON.stringify(response)), ...stage.textToModel()].filter((said) =>
    said.includes(`{"paid":${amount}}`),
  ).length;

class DeleteTool extends BaseTool {
  readonly #ran: unknown[];
  constructor(ran: unknown[], name: string) {
    super({ name, description: "Deletes a file." });
    this.#ran = ran;
  }
  override _getDeclaration(): FunctionDeclaration {
    return { name: this.name, parameters: { type: Type.OBJECT, properties: { file: { type: Type.STRING } } } };
  }
  override async runAsync({ args }: RunAsyncToolRequest): Promise<unknown> {
    this.#ran.push(args);
    return { done: true };
  }
}

class FileToolset extends BaseToolset {
  readonly #tool: BaseTool;
  constructor(tool: BaseTool) {
    super([]);
    this.#tool = tool;
  }
  override async getTools(): Promise<BaseTool[]> {
    return [this.#tool];
  }
  override async close(): Promise<void> {}
}

/** Every way in which a tool can be gated. */
const gatedTools: Record<string, (ran: unknown[]) => LiveStageOptions & { says: readonly Piece[] }> = {
  "a FunctionTool with a flag": (ran) => ({
    says: [call("act", { amount: 5 })],
    tools: [actTool(ran, true)],
  }),
  "a FunctionTool with a predicate": (ran) => ({
    says: [call("act", { amount: 500 })],
    tools: [actTool(ran, ({ amount }) => amount > 100)],
  }),
  "a tool that requests confirmation itself": (ran) => ({
    says: [call("act", { amount: 5 })],
    tools: [
      new FunctionTool({
        name: "act",
        description: "Acts.",
        parameters: z.object({ amount: z.number() }),
        execute: (args, context) => {
          if (!context?.toolConfirmation?.confirmed) {
            context?.requestConfirmation({ hint: "Sure?" });
            return { asked: true };
          }
          ran.push(args);
          return { done: true };
        },
      }),
    ],
  }),
  "a custom tool by policy": (ran) => ({
    says: [call("act", { file: "a.txt" })],
    tools: [new DeleteTool(ran, "act")],
    bridge: { tools: { act: { confirm: true } } },
  }),
  "a tool of a toolset by policy": (ran) => ({
    says: [call("act", { file: "a.txt" })],
    agent: ({ model }) =>
      new LlmAgent({ name: "root_agent", model: model(), tools: [new FileToolset(new DeleteTool(ran, "act"))] }),
    bridge: { tools: { act: { confirm: true } } },
  }),
};

function actTool(ran: unknown[], requireConfirmation: boolean | ((args: { amount: number }) => boolean)) {
  return new FunctionTool({
    name: "act",
    description: "Acts.",
    requireConfirmation,
    parameters: z.object({ amount: z.number() }),
    execute: (args) => {
      ran.push(args);
      return { done: true };
    },
  });
}

for (const behavior of behaviors)
  describe(`a question in a live chat, ${behavior}`, () => {
    for (const [name, make] of Object.entries(gatedTools)) {
      const open = async () => {
        const ran: unknown[] = [];
        const { says, ...options } = make(ran);
        const stage = await openStory(says, { behavior, ...options });
        const question = await stage.say("go");
        expect(sequence(question)).toBe(asksOnce);
        expect(question.chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "tool-calls" });
        expect({ ran, told: told(stage) }).toEqual({ ran: [], told: [] });
        return { stage, ran, question };
      };

      it(`runs ${name} once after a yes, and the model is told once`, async () => {
        const { stage, ran, question } = await open();
        const reply = await yes(stage);
        expect(sequence(reply)).toBe(goesOn);
        expect(messageIdOf(reply)).toBe(messageIdOf(question));
        expect(states(reply)).toEqual(["approved", "executing", "succeeded"]);
        expect(ran).toHaveLength(1);
        expect(told(stage)).toEqual([["act", { done: true }]]);
        expect(textOf(reply)).toBe('act gave {"done":true}.');
        expect(stage.gemini.live.sessions).toHaveLength(1);
        expect(stage.gemini.live.errors).toEqual([]);
        expect(stage.loggedErrors).toEqual([]);
      });

      it(`does not run ${name} after a no, and the model is told`, async () => {
        const { stage, ran } = await open();
        const reply = await no(stage);
        expect(sequence(reply)).toBe(denied);
        expect(ran).toEqual([]);
        expect(told(stage)).toEqual([["act", rejected]]);
        expect(stage.gemini.live.errors).toEqual([]);
      });
    }

    it("is shown with its outcome when the tool throws", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("too much");
      const reply = await yes(stage);
      expect(sequence(reply)).toBe("start toe ss text fs finish [DONE]");
      expect(states(reply)).toEqual(["approved", "executing", "failed"]);
      expect(told(stage)).toEqual([
        ["process_payment", { error: expect.stringContaining("The balance is 1000."), status: "failed" }],
      ]);
      await expectWhole(stage);
    });

    it("is not asked if the arguments are invalid", async () => {
      const stage = await openStory([call("process_payment", { amount: "much" })], { behavior });
      const reply = await stage.say("go");
      expect(sequence(reply)).toMatch(/^start ss tis tia to[ae] fs ss text fs finish \[DONE\]$/);
      expect(await stage.rows()).toEqual([]);
      expect(JSON.stringify(told(stage))).toContain("Error in tool 'process_payment'");
      await expectWhole(stage);
    });

    it("is not asked about an ungated tool", async () => {
      const stage = await openLiveStage({ behavior });
      const reply = await stage.say("weather");
      expect(sequence(reply)).toBe("start ss tis tia toa fs ss text fs finish [DONE]");
      expect(told(stage)).toEqual([["get_weather", { location: "Tokyo", temperature: 21 }]]);
      await expectWhole(stage);
    });

    it("does not delay an ungated call of the same step: the model gets that result at once", async () => {
      const stage = await openLiveStage({ behavior });
      const question = await stage.say("mixed");
      expect(sequence(question)).toMatch(/^start ss tis tia tis tia (tar toa|toa tar) fs finish \[DONE\]$/);
      await stage.until(() => stage.responses().length > 0);
      expect(told(stage)).toEqual([["get_weather", { location: "Tokyo", temperature: 21 }]]);
      await stage.untilIdle();
      const reply = await yes(stage);
      expect(sequence(reply)).toContain("toa");
      expect(told(stage).slice(1)).toEqual([["process_payment", { paid: 50 }]]);
      await expectWhole(stage);
      expect(stage.payments).toHaveLength(1);
    });

    for (const decisions of [
      [true, true],
      [true, false],
      [false, true],
      [false, false],
    ] as const) {
      const outcome = (approved: boolean, amount: number) => (approved ? { paid: amount } : rejected);
      const [alice, bob] = decisions;

      it(`can be one of two that are answered together: ${decisions.join(", ")}`, async () => {
        const stage = await openLiveStage({ behavior });
        expect(sequence(await stage.say("two payments"))).toBe(asksTwice);
        const reply = await stage.answer(await answers(stage, ...decisions));
        const shown = decisions.map((approved) => (approved ? "toa" : "tod")).join(" ");
        expect(sequence(reply)).toBe(`start ${shown} ss text fs finish [DONE]`);
        expect(told(stage)).toEqual([
          ["process_payment", outcome(alice, 30)],
          ["process_payment", outcome(bob, 40)],
        ]);
        await stage.untilIdle();
        await expectWhole(stage);
        expect(stage.loggedErrors).toEqual([]);
      });

      for (const order of ["in their order", "the other way round"] as const)
        it(`can be one of two that are answered one by one ${order}: ${decisions.join(", ")}`, async () => {
          const stage = await openLiveStage({ behavior });
          await stage.say("two payments");
          const both = await answers(stage, ...decisions);
          const [first, second] = order === "in their order" ? both : both.toReversed();
          const one = await stage.answer([first!]);
          expect(sequence(one)).toMatch(/^start to[ad]/);
          await stage.until(() => stage.responses().length > 0);
          expect(stage.responses()).toHaveLength(1);
          expect(await stage.pending()).toHaveLength(1);
          await stage.untilIdle();
          const other = await stage.answer([second!]);
          expect(sequence(other)).toMatch(/^start to[ad] ss text fs finish \[DONE\]$/);
          await stage.untilIdle();
          const outcomes = [outcome(alice, 30), outcome(bob, 40)];
          const expected = order === "in their order" ? outcomes : outcomes.toReversed();
          expect(told(stage).map(([, response]) => response)).toEqual(expected);
          await expectWhole(stage);
        });
    }

    it("can be one of two of which one is answered when the user writes before the model responds", async () => {
      const rest = gate();
      const stage = await openLiveStage({
        behavior,
        rules: [
          {
            when: ({ responses, fresh }) => !fresh && responses.length === 1,
            say: [pause(rest.opened), text("Well.")],
          },
          ...liveRules,
        ],
      });
      await stage.say("two payments");
      const [first, second] = await answers(stage, true, true);
      await stage.answer([first!]);
      await stage.until(() => stage.responses().length === 1);
      expect(textOf(await stage.say("hello"))).toBe("Hello there, friend.");
      rest.open();
      await stage.untilIdle();
      expect(sequence(await stage.answer([second!]))).toMatch(/^start toa/);
      await stage.untilIdle();
      expect(stage.payments).toHaveLength(2);
      expect(stage.responses()).toHaveLength(2);
      await expectWhole(stage);
    });

    it("can follow another one in the same message", async () => {
      const stage = await openLiveStage({ behavior });
      expect(sequence(await stage.say("chain"))).toBe(asksOnce);
      const second = await yes(stage);
      expect(sequence(second)).toBe("start toa ss tis tia tar fs finish [DONE]");
      expect(sequence(await yes(stage))).toBe(goesOn);
      expect(stage.payments.map(({ recipient }) => recipient)).toEqual(["First", "Second"]);
      expect(stage.gemini.live.sessions).toHaveLength(1);
      await expectWhole(stage);
    });

    it("leads to one payment and one response when it is answered ten times at once", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("pay");
      const [answer] = await answers(stage, true);
      const replies = await Promise.all(Array.from({ length: 10 }, () => stage.answer([answer!])));
      for (const reply of replies) expect(sequence(reply)).toContain("toa");
      await stage.untilIdle();
      expect(stage.payments).toHaveLength(1);
      expect(stage.responses()).toHaveLength(1);
      expect(timesTold(stage, 50)).toBe(1);
      await expectWhole(stage);
    });

    it("takes the first answer when it is answered both ways at once", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("pay");
      const { id } = await openQuestion(stage);
      const [refusal, consent] = await Promise.all([stage.decide(id, false), stage.decide(id, true)]);
      // At several nodes the second one may be first.
      const isYes = nodeCount > 1 && consent.outcome === "accepted";
      expect([refusal.outcome, consent.outcome]).toEqual(isYes ? ["refused", "accepted"] : ["accepted", "refused"]);
      await stage.untilIdle();
      if (isYes) {
        expect(stage.payments).toHaveLength(1);
        return;
      }
      const late = await stage.answer([{ id, approved: true }]);
      expect(sequence(late)).toContain("toe");
      expect(stage.payments).toEqual([]);
      expect(told(stage)).toEqual([["process_payment", rejected]]);
      await expectWhole(stage);
    });

    it("expires, the model is told, and a late yes pays nothing", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("pay");
      const { id } = await openQuestion(stage);
      stage.clock.now += 61_000;
      await stage.sweep();
      await stage.untilIdle();
      expect(await statesOf(stage)).toEqual(["expired"]);
      expect(JSON.stringify(told(stage))).toContain("in time");
      expect(stage.responses()).toHaveLength(1);
      expect((await stage.decide(id, true)).outcome).toBe("refused");
      expect(stage.payments).toEqual([]);
      await expectWhole(stage);
    });

    it("is cancelled when the model cancels the call while it is open, and the model is not told again", async () => {
      const stage = await openLiveStage({
        behavior,
        rules: [{ when: /never mind/, say: [cancelCalls(), text("As you like.")] }, ...liveRules],
      });
      await stage.say("pay");
      const { id } = await openQuestion(stage);
      const reply = await stage.say("never mind");
      expect(textOf(reply)).toBe("As you like.");
      await stage.until(async () => (await statesOf(stage))[0] === "cancelled");
      await stage.untilIdle();
      expect((await stage.decide(id, true)).outcome).toBe("refused");
      expect(stage.responses()).toEqual([]);
      expect(stage.payments).toEqual([]);
      await expectWhole(stage);
      await stage.say("hello", { live: false });
      await expectWhole(stage);
    });

    it("stays paid when the model cancels the call while the tool runs, and the model gets one note", async () => {
      const stage = await openLiveStage({
        behavior,
        rules: [{ when: /never mind/, say: [cancelCalls(), text("As you like.")] }, ...liveRules],
      });
      const slow = gate();
      stage.setPace(slow.opened);
      await stage.say("pay");
      const { id } = await openQuestion(stage);
      await stage.decide(id, true);
      await stage.until(() => stage.payments.length === 1);
      await stage.say("never mind");
      slow.open();
      await stage.untilIdle();
      await stage.until(async () => (await stage.rows()).every(({ told: isTold }) => isTold));
      expect(await statesOf(stage)).toEqual(["succeeded"]);
      const notes = () => stage.textToModel().filter((words) => words.includes("[context"));
      await stage.until(() => notes().length > 0);
      await stage.untilIdle();
      expect(notes()).toHaveLength(1);
      expect(stage.responses()).toEqual([]);
      await expectWhole(stage);
    });

    it("can stay open while the user writes; the model is told the outcome once, and nothing before", async () => {
      const stage = await openLiveStage({ behavior });
      const question = await stage.say("pay");
      const talk = await stage.say("hello");
      expect(sequence(talk)).toBe(spoken);
      expect(textOf(talk)).toBe("Hello there, friend.");
      expect(messageIdOf(talk)).not.toBe(messageIdOf(question));
      expect(await statesOf(stage)).toEqual(["pending"]);
      expect(stage.responses()).toEqual([]);
      expect(stage.textToModel()).toEqual(["pay", "hello"]);
      const reply = await yes(stage);
      expect(messageIdOf(reply)).toBe(messageIdOf(question));
      expect(sequence(reply)).toBe(goesOn);
      expect(told(stage)).toEqual([["process_payment", { paid: 50 }]]);
      expect(timesTold(stage, 50)).toBe(1);
      await stage.say("hello again");
      expect(timesTold(stage, 50)).toBe(1);
      await expectWhole(stage);
    });

    for (const way of ["aside", "outside the chat"] as const)
      it(`can be answered ${way} in an older message: a new message has the outcome, and the card shows it`, async () => {
        const stage = await openLiveStage({ behavior });
        const question = await stage.say("pay");
        const talk = await stage.say("hello");
        const { id, toolCallId } = await openQuestion(stage);
        if (way === "aside") {
          const reply = await stage.answer([{ id, approved: true }], { aside: true });
          expect(sequence(reply)).toBe("start ss fs ss text fs finish [DONE]");
          expect(messageIdOf(reply)).not.toBeOneOf([messageIdOf(question), messageIdOf(talk)]);
          expect(states(reply).at(-1)).toBe("succeeded");
          expect(textOf(reply)).toContain('{"paid":50}');
        } else expect((await stage.decide(id, true)).outcome).toBe("accepted");
        await stage.untilIdle();
        const messages = await stage.messages();
        expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant", "assistant"]);
        expect(messages[4]!.parts.some(({ type }) => type === "data-approval")).toBe(true);
        const card = messages[1]!.parts.filter(isToolUIPart).find((part) => part.toolCallId === toolCallId);
        expect(card).toMatchObject({ state: "output-available", output: { paid: 50 } });
        expect(told(stage)).toEqual([["process_payment", { paid: 50 }]]);
        expect(timesTold(stage, 50)).toBe(1);
        await expectWhole(stage);
      });

    it("continues in its own message, the last, when it is answered aside together with an older one", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("pay");
      const question = await stage.say("pay");
      const both = (await stage.pending()).map(({ id }) => ({ id, approved: true }));
      expect(messageIdOf(await stage.answer(both, { aside: true }))).toBe(messageIdOf(question));
      await stage.untilIdle();
      await expectWhole(stage);
    });

    for (const way of ["aside", "outside the chat"] as const)
      it(`continues in its own message when it is answered ${way} and that message is the last`, async () => {
        const stage = await openLiveStage({ behavior });
        const question = await stage.say("pay");
        const { id } = await openQuestion(stage);
        if (way === "aside") await stage.answer([{ id, approved: true }], { aside: true });
        else await stage.decide(id, true);
        await stage.untilIdle();
        const messages = await stage.messages();
        expect(messages.map(({ id: messageId }) => messageId).slice(1)).toEqual([messageIdOf(question)]);
        expect(timesTold(stage, 50)).toBe(1);
        await expectWhole(stage);
      });

    it("can be for the browser: the result goes to the model", async () => {
      const stage = await openLiveStage({ behavior });
      const question = await stage.say("music");
      expect(sequence(question)).toBe("start ss tis tia fs finish [DONE]");
      const [row] = await stage.rows();
      const reply = await stage.answer([{ id: row!.toolCallId, result: { output: { playing: 2 } } }]);
      expect(sequence(reply)).toBe(goesOn);
      expect(told(stage)).toEqual([["change_bgm", { playing: 2 }]]);
      await expectWhole(stage);
    });

    it("can be for the browser and a person: a yes, then the result", async () => {
      const stage = await openLiveStage({ behavior });
      expect(sequence(await stage.say("where"))).toBe(asksOnce);
      const [row] = await stage.rows();
      await expect(stage.answer([{ id: row!.toolCallId, result: { output: {} } }])).rejects.toThrow(BridgeError);
      const bare = await stage.answer([{ id: row!.id, approved: true }]);
      expect(sequence(bare)).toBe("start ss tia fs finish [DONE]");
      expect(stage.responses()).toEqual([]);
      const reply = await stage.answer([{ id: row!.toolCallId, result: { output: { latitude: 35 } } }]);
      expect(sequence(reply)).toBe(goesOn);
      expect(told(stage)).toEqual([["get_location", { latitude: 35 }]]);
      await expectWhole(stage);
    });

    it("can be for the browser and a person: a no", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("where");
      expect(sequence(await no(stage))).toBe(denied);
      expect(told(stage)).toEqual([["get_location", rejected]]);
      await expectWhole(stage);
    });

    it("waits for the application if the tool is long-running", async () => {
      let key = "";
      const long = new LongRunningFunctionTool({
        name: "start_job",
        description: "Starts.",
        parameters: z.object({}),
        execute: (_, context) => void (key = idempotencyKey(context!)),
      });
      const stage = await openStory([call("start_job")], { behavior, tools: [long] });
      expect(sequence(await stage.say("go"))).toBe("start ss tis tia fs finish [DONE]");
      expect(stage.responses()).toEqual([]);
      await stage.bridge.settle(owner, key, { result: { job: "done" } });
      await stage.untilIdle();
      expect(told(stage)).toEqual([["start_job", { job: "done" }]]);
      expect(JSON.stringify(await stage.messages())).toContain("start_job gave");
      await expectWhole(stage);
    });

    it("lets the tool change state that the live session sees after a yes", async () => {
      const stage = await openLiveStage({
        behavior,
        rules: [{ when: /who/, say: [call("last_paid")] }, ...liveRules],
      });
      await stage.say("pay");
      await yes(stage);
      await stage.say("who");
      expect(told(stage).at(-1)).toEqual(["last_paid", { last: "Hanako" }]);
      expect(stage.gemini.live.sessions).toHaveLength(1);
      await expectWhole(stage);
    });

    for (const approved of [true, false])
      it(`can come from a sub-agent: ${approved ? "approved" : "denied"}`, async () => {
        const stage = await openLiveStage({ behavior, ...receptionist });
        const question = await stage.say("go");
        expect(sequence(question)).toBe("start ss tis tia toa fs ss tis tia tar fs finish [DONE]");
        const reply = await (approved ? yes(stage) : no(stage));
        expect(sequence(reply)).toBe(approved ? goesOn : denied);
        await stage.untilIdle();
        expect(stage.payments).toHaveLength(approved ? 1 : 0);
        expect(told(stage).filter(([name]) => name === "process_payment")).toEqual([
          ["process_payment", approved ? { paid: 50 } : rejected],
        ]);
        expect(stage.gemini.live.errors).toEqual([]);
        expect(stage.gemini.live.open).toBe(1);
        expect(textOf(await stage.say("hello"))).toBe("Hello, I am the clerk.");
        await stage.untilIdle();
        await expectWhole(stage);
      });

    it("can come from a sub-agent whose connection is lost: the next connection is the sub-agent's too", async () => {
      const stage = await openLiveStage({ behavior, ...receptionist });
      await stage.say("go");
      stage.gemini.live.sessions.at(-1)!.drop();
      await stage.untilDisconnectNoticed();
      const reply = await yes(stage);
      expect(sequence(reply)).toBe(goesOn);
      expect(stage.payments).toHaveLength(1);
      expect(stage.gemini.live.sessions.at(-1)!.setup?.systemInstruction).toMatchObject({
        parts: [{ text: expect.stringContaining("Pay.") }],
      });
      await stage.untilIdle();
      expect(textOf(await stage.say("hello"))).toBe("Hello, I am the clerk.");
      await expectWhole(stage);
    });

    for (const approved of [true, false])
      it(`can come from an agent that is run as a tool: ${approved ? "approved" : "denied"}`, async () => {
        const stage = await openLiveStage({ behavior, ...behindClerk });
        const question = await stage.say("ask the clerk to pay");
        expect(sequence(question)).toContain("tar fs finish");
        expect(stage.responses()).toEqual([]);
        const reply = await (approved ? yes(stage) : no(stage));
        await stage.untilIdle();
        expect(stage.payments).toHaveLength(approved ? 1 : 0);
        expect(stage.responses()).toHaveLength(1);
        expect(told(stage)[0]![0]).toBe("clerk");
        expect(textOf(reply)).toContain("clerk gave");
        await expectWhole(stage);
      });

    for (const [when, happen] of [
      ["the user writes", (stage: LiveStage) => stage.say("hello")],
      [
        "the connection is lost",
        async (stage: LiveStage) => {
          stage.gemini.live.sessions[0]!.drop();
          await stage.untilDisconnectNoticed();
        },
      ],
      ["the process dies", (stage: LiveStage) => stage.crash()],
    ] as const)
      for (const live of [true, false])
        it(`can come from an agent run as a tool, and ${when}: it continues after a yes ${live ? "live" : "by request"}`, async () => {
          const stage = await openLiveStage({ behavior, ...behindClerk });
          await stage.say("ask the clerk to pay");
          await happen(stage);
          const { id } = await openQuestion(stage);
          const reply = await stage.answer([{ id, approved: true }], { live });
          await stage.untilIdle();
          expect(sequence(reply)).toMatch(/finish \[DONE\]$/);
          expect(stage.payments).toHaveLength(1);
          expect((await statesOf(stage)).toSorted()).toEqual(["succeeded", "succeeded"]);
          await stage.say("hello");
          await stage.untilIdle();
          const { open } = await expectWhole(stage);
          expect(open).toEqual([]);
        });

    it("can come from an agent run as a tool when the server stops: it stays open, and the model is told of the payment", async () => {
      const stage = await openLiveStage({ behavior, ...behindClerk });
      let closing: Promise<void> | undefined;
      stage.dieAt(({ when, operation, args }) => {
        const asks = when === "before" && operation === "append" && JSON.stringify(args).includes("approval-request");
        if (asks) closing ??= stage.bridge.close();
        return false;
      });
      await stage.say("ask the clerk to pay").catch(() => undefined);
      await closing;
      await stage.restart();
      const questions = await stage.pending();
      expect(questions).toHaveLength(1);
      for (const { id } of questions) await stage.answer([{ id, approved: true }]);
      await stage.untilIdle();
      await stage.say("hello");
      // The clerk's result is JSON in a string.
      const known = stage.textToModel(stage.gemini.live.sessions.at(-1)).join("").replaceAll("\\", "");
      expect(stage.payments).toHaveLength(1);
      for (const { amount } of stage.payments) expect(known).toContain(`"paid":${amount}`);
      await expectWhole(stage);
    });

    it("is never asked about a tool that does not exist", async () => {
      const stage = await openStory([call("no_such_tool", { a: 1 })], { behavior });
      const reply = await stage.say("go");
      expect(sequence(reply)).toMatch(/ss text fs finish \[DONE\]$/);
      expect(told(stage)).toEqual([["no_such_tool", { error: "There is no tool named no_such_tool." }]]);
      await expectWhole(stage);
    });

    it("is never asked about ADK's own task_completed call, and the conversation continues", async () => {
      const stage = await openStory([call("task_completed")], { behavior });
      const reply = await stage.say("go");
      expect(sequence(reply)).toMatch(/finish \[DONE\]$/);
      expect(stage.responses()).toHaveLength(1);
      expect(sequence(await stage.say("hello"))).toBe(spoken);
      expect(stage.gemini.live.sessions).toHaveLength(1);
      await expectWhole(stage);
    });

    it("cannot be answered by the model itself", async () => {
      const stage = await openStory(
        [call("adk_request_confirmation", { originalFunctionCall: { name: "process_payment", args: {} } })],
        { behavior },
      );
      const reply = await stage.say("go");
      expect(sequence(reply)).toMatch(/finish \[DONE\]$/);
      expect(stage.responses()).toHaveLength(1);
      expect(JSON.stringify(told(stage))).toContain("There is no tool named");
      expect(stage.payments).toEqual([]);
      await expectWhole(stage);
      expect(sequence(await stage.say("hello"))).toBe(spoken);
    });
  });

/** An agent that transfers to a clerk agent, which has the gated tool. */
const receptionist: LiveStageOptions = {
  rules: [
    { when: ({ system }) => system.includes("Transfer."), say: [call("transfer_to_agent", { agentName: "clerk" })] },
    liveRules[0]!,
    { when: ({ responses }) => responses.some(({ name }) => name === "process_payment"), say: liveRules[2]!.say },
    { when: ({ fresh, text: said }) => fresh && /hello/.test(said), say: [text("Hello, I am the clerk.")] },
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

for (const behavior of behaviors)
  describe(`a reply in a live chat, ${behavior}`, () => {
    /** A model that begins a reply and continues when the test lets it. */
    const openSlow = async (pieces: (rest: Promise<void>) => readonly Piece[], options: LiveStageOptions = {}) => {
      const rest = gate();
      const rules: Rule[] = [{ when: /^slow$/, say: pieces(rest.opened) }, ...liveRules];
      return { stage: await openLiveStage({ behavior, rules, ...options }), goOn: rest.open };
    };
    const shows = async (stage: LiveStage, words: string) =>
      (await stage.store.read((await stage.store.findChat(owner, chat, "root_agent"))!.id)).some(
        (entry) => entry.kind === "chunk" && entry.chunk.type === "text-delta" && entry.chunk.delta.includes(words),
      );
    const begin = async (stage: LiveStage, words = "slow", first = "begin") => {
      const reply = stage.read(await stage.send({ type: "message", message: userMessage(words) }));
      await stage.until(() => shows(stage, first));
      return reply;
    };
    const slowly = (rest: Promise<void>) => [text("I begin. "), pause(rest), text("And I end.")];

    it("streams word by word and ends once, for every model name", async () => {
      for (const model of ["gemini-2.5-flash", "gemini-3.1-flash-live-preview"]) {
        const stage = await openLiveStage({ behavior, model });
        const reply = await stage.say("hello");
        expect(sequence(reply)).toBe(spoken);
        expect(reply.chunks.filter(({ type }) => type === "text-delta").length).toBeGreaterThan(1);
        expect(reply.chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "stop" });
        expect(stage.textToModel()).toEqual(["hello"]);
        await stage.say("pay");
        expect(sequence(await yes(stage))).toBe(goesOn);
        await expectWhole(stage);
      }
    });

    it("can be stopped in the middle: the rest is dropped, and the next message gets its reply", async () => {
      const { stage, goOn } = await openSlow(slowly);
      const reading = begin(stage);
      await stage.until(() => shows(stage, "begin").catch(() => false));
      expect(await stage.stop()).toBe(true);
      const cut = await reading;
      expect(cut.chunks.at(-1)).toEqual({ type: "abort" });
      expect(textOf(cut)).not.toContain("end");
      // The model is really stopped: its connection is closed.
      expect(await stage.gemini.waitForEnd(1)).toBe("disconnected");
      goOn();
      const next = await stage.say("hello");
      expect(textOf(next)).toBe("Hello there, friend.");
      await stage.untilIdle();
      expect((await stage.messages()).map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
      expect(JSON.stringify(await stage.messages())).not.toContain("And I end");
      expect(stage.gemini.live.open).toBe(1);
      await expectWhole(stage);
    });

    it("can be stopped in the middle, also if the next message comes before the model has noticed", async () => {
      const { stage, goOn } = await openSlow(slowly);
      const reading = begin(stage);
      await stage.until(() => shows(stage, "begin").catch(() => false));
      await stage.stop();
      await reading;
      const next = await stage.say("hello");
      expect(textOf(next)).toBe("Hello there, friend.");
      expect(await stage.gemini.waitForEnd(1)).toBe("disconnected");
      goOn();
      await stage.untilIdle();
      await expectWhole(stage);
    });

    it("is interrupted by new text: the text so far stays, and the rest does not come", async () => {
      const { stage, goOn } = await openSlow(slowly);
      const reading = begin(stage);
      await stage.until(() => shows(stage, "begin").catch(() => false));
      const next = await stage.say("hello");
      const cut = await reading;
      expect(textOf(cut)).toContain("I begin.");
      expect(cut.chunks.at(-1)).toEqual({ type: "abort" });
      expect(textOf(next)).toBe("Hello there, friend.");
      expect(await stage.gemini.waitForEnd(1)).toBe("disconnected");
      goOn();
      await stage.untilIdle();
      expect((await stage.messages()).map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
      await expectWhole(stage);
    });

    for (const ticks of [0, 1, 3, 10, 30])
      it(`covers every message, also if one message directly follows another (${ticks})`, async () => {
        const stage = await openLiveStage({ behavior });
        const first = stage.say("hello, my name is Kim");
        for (let tick = 0; tick < ticks; tick += 1) await new Promise((resolve) => setImmediate(resolve));
        const replies = await Promise.all([first, stage.say("hello")]);
        // At several nodes the second one may come first.
        const complete = nodeCount > 1 ? replies.findLast((reply) => textOf(reply) !== "") : replies[1];
        expect(complete && textOf(complete)).toBe("Hello there, friend.");
        await stage.untilIdle();
        expect(stage.textToModel().join("\n")).toContain("hello, my name is Kim");
        expect((await stage.messages()).filter(({ role }) => role === "user")).toHaveLength(2);
        await stage.say("hello", { live: false });
        expect(JSON.stringify(stage.gemini.requests.at(-1)!.contents).split("my name is Kim")).toHaveLength(2);
        await expectWhole(stage);
      });

    it("covers every message, also if thirty come at once", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("hello");
      const words = Array.from({ length: 30 }, (_, index) => `hello, this is number ${index}.`);
      const replies = await Promise.all(words.map((word) => stage.say(word)));
      const last = nodeCount > 1 ? replies.findLast((reply) => textOf(reply) !== "") : replies.at(-1);
      expect(textOf(last!)).toBe("Hello there, friend.");
      await stage.untilIdle();
      for (const word of words) expect(stage.textToModel().join("\n")).toContain(word);
      expect(stage.gemini.live.open).toBe(1);
      await expectWhole(stage);
    });

    it("continues to its end while an older question is answered, and the outcome follows after it", async () => {
      const { stage, goOn } = await openSlow(slowly);
      await stage.say("pay");
      const reading = begin(stage);
      await stage.until(() => shows(stage, "begin").catch(() => false));
      const { id } = await openQuestion(stage);
      const answering = stage.answer([{ id, approved: true }], { aside: true });
      await stage.until(() => stage.payments.length === 1);
      goOn();
      expect(textOf(await reading)).toBe("I begin. And I end.");
      expect(textOf(await answering)).toContain('{"paid":50}');
      await stage.untilIdle();
      expect(timesTold(stage, 50)).toBe(1);
      await expectWhole(stage);
    });

    it("has no calls after a stop", async () => {
      const { stage, goOn } = await openSlow((rest) => [
        text("I begin. "),
        pause(rest),
        call("process_payment", { amount: 50, recipient: "Hanako" }),
        call("get_weather", { location: "Tokyo" }),
      ]);
      const reading = begin(stage);
      await stage.until(() => shows(stage, "begin").catch(() => false));
      await stage.stop();
      await reading;
      goOn();
      await stage.gemini.waitForEnd(1);
      expect(await stage.rows()).toEqual([]);
      expect(textOf(await stage.say("hello"))).toBe("Hello there, friend.");
      await stage.untilIdle();
      expect(stage.payments).toEqual([]);
      await expectWhole(stage);
    });

    it("ends when the model interrupts itself", async () => {
      const stage = await openLiveStage({
        behavior,
        rules: [{ when: /^cut$/, say: [text("I was about to"), interrupted()] }, ...liveRules],
        bridge: { live: { silenceMs: 300 } },
      });
      const reply = await stage.say("cut");
      expect(sequence(reply)).toBe(spoken);
      expect(textOf(await stage.say("hello"))).toBe("Hello there, friend.");
      await expectWhole(stage);
    });

    it("can be regenerated, and the model no longer has the old reply", async () => {
      const stage = await openLiveStage({
        behavior,
        rules: [{ when: /^dice$/, say: ({ request }) => [text(`It is ${request}.`)] }, ...liveRules],
      });
      await stage.say("hello");
      await stage.say("dice");
      const again = await stage.submit({ type: "regenerate" });
      expect(textOf(again)).toBe("It is 3.");
      expect(stage.gemini.live.sessions).toHaveLength(2);
      const second = stage.gemini.live.sessions[1]!;
      expect(stage.textToModel(second).filter((words) => words === "dice")).toHaveLength(1);
      expect(stage.textToModel(second).join("\n")).not.toContain("It is 2.");
      expect(stage.textToModel(second)[0]).toBe("hello");
      expect((await stage.messages()).map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
      await stage.until(() => stage.gemini.live.open === 1);
      await expectWhole(stage);
    });

    it("can be regenerated with its question: the old one is cancelled, and the new one pays once", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("pay");
      const again = await stage.submit({ type: "regenerate" });
      expect(sequence(again)).toBe(asksOnce);
      expect(await statesOf(stage)).toEqual(["cancelled", "pending"]);
      expect(sequence(await yes(stage))).toBe(goesOn);
      expect(stage.payments).toHaveLength(1);
      await expectWhole(stage);
    });

    it("keeps its calls when it is regenerated, on a new connection", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("pay");
      await yes(stage);
      const again = await stage.submit({ type: "regenerate" });
      expect(sequence(again)).toBe("start ss tis tia toa fs ss text fs finish [DONE]");
      expect(stage.gemini.live.sessions).toHaveLength(2);
      const heard = stage.textToModel(stage.gemini.live.sessions[1]).join("\n");
      expect(heard).toContain('[process_payment returned {"paid":50}]');
      expect(heard).not.toContain("process_payment gave");
      expect(sequence(await stage.say("hello"))).toBe(spoken);
      expect(stage.payments).toHaveLength(1);
      await expectWhole(stage);
    });

    it("can be to a picture", async () => {
      for (const model of ["gemini-2.5-flash", "gemini-3.1-flash-live-preview"]) {
        const stage = await openLiveStage({ behavior, model });
        const picture = { type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA" } as const;
        const message = { ...userMessage("hello, what is this"), id: "u-picture" };
        message.parts.push(picture);
        const reply = await stage.submit({ type: "message", message });
        expect(sequence(reply)).toBe(spoken);
        const [session] = stage.gemini.live.sessions;
        expect(JSON.stringify(session!.messages)).toContain('"inlineData":{"mimeType":"image/png","data":"AAAA"}');
        await expectWhole(stage);
      }
    });

    it("has its own connection for each chat", async () => {
      const stage = await openLiveStage({ behavior });
      const names = Array.from({ length: 20 }, (_, index) => `chat-${index}`);
      const say = async (name: string, words: string) =>
        stage.read(
          await stage.bridge.submit(owner, name, { type: "message", message: userMessage(words) }, { live: true }),
        );
      const asked = await Promise.all(names.map((name) => say(name, "pay")));
      expect(asked.map(sequence)).toEqual(names.map(() => asksOnce));
      expect(stage.gemini.live.open).toBe(20);
      const { approvals } = await stage.bridge.approvals(owner, { state: "pending" });
      expect(approvals).toHaveLength(20);
      await Promise.all(approvals.map(({ id }, index) => stage.decide(id, index % 2 === 0)));
      await stage.until(() => stage.responses().length === 20);
      expect(stage.payments).toHaveLength(10);
      for (const session of stage.gemini.live.sessions) expect(stage.responses(session)).toHaveLength(1);
      expect(stage.gemini.live.errors).toEqual([]);
    });

    it("shows thoughts as reasoning, and token counts with AI SDK's names", async () => {
      const counts = { promptTokenCount: 11, candidatesTokenCount: 7, thoughtsTokenCount: 2, totalTokenCount: 20 };
      const stage = await openLiveStage({
        behavior,
        rules: [{ say: [thought("Let me see. "), text("It is four."), usage(counts)] }],
      });
      const reply = await stage.say("two and two");
      expect(sequence(reply)).toBe("start ss reasoning text fs finish [DONE]");
      expect(textOf(reply)).toBe("It is four.");
      expect(reply.chunks.at(-1)).toMatchObject({
        messageMetadata: {
          usage: { inputTokens: 11, outputTokens: 9, totalTokens: 20, reasoningTokens: 2 },
          modelVersion: expect.stringMatching(nodeCount > 1 ? /-of-process-\d+$/ : /^gemini-2.5-flash-of-process-1$/),
        },
      });
    });

    it("can come without a new message after a finished reply, as a message of its own", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("hello");
      const [session] = stage.gemini.live.sessions;
      session!.send({ serverContent: { modelTurn: { role: "model", parts: [{ text: "By the way, it rains." }] } } });
      session!.send({ serverContent: { turnComplete: true } });
      await stage.until(() => shows(stage, "it rains"));
      await stage.untilIdle();
      const messages = await stage.messages();
      expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "assistant"]);
      expect(messages[2]!.parts.at(-1)).toMatchObject({ type: "text", text: "By the way, it rains." });
      expect(textOf(await stage.say("hello"))).toBe("Hello there, friend.");
      await expectWhole(stage);
    });

    it("can come without a new message and ask a question like any other", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("hello");
      const [session] = stage.gemini.live.sessions;
      const args = { amount: 9, recipient: "Rent" };
      session!.send({ toolCall: { functionCalls: [{ id: "unasked", name: "process_payment", args }] } });
      await stage.until(async () => (await stage.pending()).length === 1);
      await stage.untilIdle();
      const messages = await stage.messages();
      expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "assistant"]);
      await expectWhole(stage);
    });

    it("on a new connection can use the call ids of an older connection again", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("pay");
      await yes(stage);
      stage.gemini.live.sessions[0]!.drop();
      await stage.untilDisconnectNoticed();
      await stage.say("pay");
      expect(sequence(await yes(stage))).toBe(goesOn);
      expect(stage.payments).toHaveLength(2);
      const [first, second] = stage.responses();
      expect(first!.id).toBe(second!.id);
      expect(stage.gemini.live.sessions).toHaveLength(2);
      await expectWhole(stage);
    });

    for (const { name, options } of storeKinds)
      it(`is kept on ${name} with the user's and the model's text, for the next process`, async () => {
        const stage = await openLiveStage({ behavior, ...options() });
        await stage.say("hello", { id: "u-1" });
        await stage.say("pay");
        await stage.restart();
        expect(sequence(await yes(stage))).toBe(goesOn);
        const messages = await stage.messages();
        expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
        expect(messages[0]).toMatchObject({ id: "u-1", parts: [{ type: "text", text: "hello" }] });
        const second = stage.gemini.live.sessions[1]!;
        expect(stage.textToModel(second).slice(0, 3)).toEqual(["hello", "Hello there, friend.", "pay"]);
        expect(timesTold(stage, 50)).toBe(1);
        await expectWhole(stage);
      });
  });

describe("a model that does not wait", () => {
  it("continues after its call in the same message, and the card stays", async () => {
    const stage = await openLiveStage({
      behavior: "NON_BLOCKING",
      rules: [
        {
          when: /^go$/,
          say: [call("process_payment", { amount: 50, recipient: "Hanako" }), text("Please approve the payment.")],
        },
        ...liveRules,
      ],
    });
    const question = await stage.say("go");
    await stage.until(async () => JSON.stringify(await stage.messages()).includes("Please approve"));
    await stage.untilIdle();
    const messages = await stage.messages();
    expect(messages.map(({ id }) => id).slice(1)).toEqual([messageIdOf(question)]);
    expect(await stage.pending()).toHaveLength(1);
    expect(stage.responses()).toEqual([]);
    const reply = await yes(stage);
    expect(messageIdOf(reply)).toBe(messageIdOf(question));
    expect(textOf(reply)).toContain('{"paid":50}');
    await stage.untilIdle();
    await expectWhole(stage);
  });

  it("continues after its call while the answer is already there: nothing is lost or repeated", async () => {
    const rest = gate();
    const stage = await openLiveStage({
      behavior: "NON_BLOCKING",
      rules: [
        {
          when: /^go$/,
          say: [
            call("process_payment", { amount: 50, recipient: "Hanako" }),
            pause(rest.opened),
            text("Please approve the payment."),
          ],
        },
        ...liveRules,
      ],
    });
    await stage.say("go");
    const [answer] = await answers(stage, true);
    const reading = stage.answer([answer!]);
    await stage.until(() => stage.payments.length === 1);
    rest.open();
    await reading;
    await stage.until(async () => JSON.stringify(await stage.messages()).includes("process_payment gave"));
    await stage.untilIdle();
    const said = JSON.stringify(await stage.messages());
    expect(said.split("Please approve").length - 1).toBe(1);
    expect(said.split("process_payment gave").length - 1).toBe(1);
    expect(timesTold(stage, 50)).toBe(1);
    await expectWhole(stage);
  });
});

describe("new text while an approved tool runs", () => {
  for (const behavior of behaviors)
    it(`gets its reply at once, and the outcome follows later, ${behavior}`, async () => {
      const stage = await openLiveStage({ behavior });
      const slow = gate();
      stage.setPace(slow.opened);
      await stage.say("pay");
      const { id } = await openQuestion(stage);
      const reading = stage.answer([{ id, approved: true }]);
      await stage.until(() => stage.payments.length === 1);
      expect(textOf(await stage.say("hello"))).toBe("Hello there, friend.");
      await reading;
      expect(stage.responses()).toEqual([]);
      slow.open();
      await stage.untilIdle();
      await stage.until(() => stage.responses().length === 1);
      await stage.untilIdle();
      expect(timesTold(stage, 50)).toBe(1);
      expect(JSON.stringify(await stage.messages())).toContain("process_payment gave");
      await stage.say("hello");
      expect(timesTold(stage, 50)).toBe(1);
      await expectWhole(stage);
    });
});
