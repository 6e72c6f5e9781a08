import { FunctionTool } from "@google/adk";
import { call, fail, gate, pause, type Rule, text } from "adk-stream-protocol/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Mode } from "../../src/agent/turn-input.ts";
import {
  type Begun,
  type ConversationStage,
  liveModel,
  openConversationStage,
  requestModel,
} from "../fixtures/conversation-stage.ts";
import { behindClerk, liveRules } from "../fixtures/live-stage.ts";
import { userMessage } from "../fixtures/world.ts";

/** Where the two ways to talk to a model differ on purpose. Everything else in this suite is the same for both. */
interface Differences {
  modelName: string;
  /** What `deliver` returns while a call of the step still waits for a decision. */
  whileWaiting: "parked" | "done";
  /** How many results the model gets of a step with two calls when one of them still waits. */
  resultsOfHalfAStep: number;
  /** What new text does to a question that is open. */
  questionAfterNewText: "cancelled" | "pending";
  /** How many notes `record` appends about an outcome that came too late to be the response. */
  notesByRecord: number;
  /** How a turn learns that the model failed. */
  modelFailure: "an error in the log" | "listen rejects";
}

const differences: Readonly<Record<Mode, Differences>> = {
  request: {
    modelName: requestModel,
    // A request brings the responses of a whole step or none.
    whileWaiting: "parked",
    resultsOfHalfAStep: 0,
    // A history with an open call cannot be sent, so new text ends the call.
    questionAfterNewText: "cancelled",
    notesByRecord: 1,
    // ADK reports the failure as an event.
    modelFailure: "an error in the log",
  },
  live: {
    modelName: liveModel,
    // Each outcome goes out by itself. The model waits for the others, so there is nothing to listen to.
    whileWaiting: "done",
    resultsOfHalfAStep: 1,
    questionAfterNewText: "pending",
    // The connection tells the outcome with the next thing that is said.
    notesByRecord: 0,
    modelFailure: "listen rejects",
  },
};

const paid = (amount: number) => JSON.stringify({ paid: amount });
const weather = JSON.stringify({ location: "Tokyo", temperature: 21 });
const greeting = "Hello there, friend.";
const count = (said: readonly string[], words: string) => said.filter((each) => each.includes(words)).length;
const message = (words: string) => {
  const said = userMessage(words);
  return { said, input: { kind: "message", message: said, record: true } as const };
};
const settled = { kind: "settled", approvals: [], model: true } as const;

/** The next turn gets the model's reply, whatever happened before. */
async function expectNextTurnWorks(stage: ConversationStage, mode: Mode): Promise<void> {
  const next = await stage.say(mode, "hello");
  expect(next).toMatchObject({ progress: "done", text: greeting, errors: [] });
}

/** Ends a turn that was stopped or has failed, as `runTurn` does. */
async function giveUp({ conversation, log, turn }: Begun): Promise<void> {
  conversation.leave();
  await log.abort();
  await log.end();
  await conversation.abandon(turn.input.kind === "message" ? turn.input.message : undefined);
}

/** What every implementation of `Conversation` must do. */
export function describeConversation(name: string, mode: Mode): void {
  const other: Mode = mode === "live" ? "request" : "live";
  const differs = differences[mode];

  describe(`a conversation ${name}`, () => {
    describe("a message", () => {
      it("is said to the model, and its reply is in the log", async () => {
        const stage = await openConversationStage();
        const { said, input } = message("hello");
        const { conversation, log, shown } = await stage.begin(mode, input);
        expect(conversation.modelName).toBe(differs.modelName);
        expect(await conversation.say(said, log)).toEqual([]);
        expect(await conversation.listen(log)).toBe("done");
        conversation.leave();
        expect(await shown()).toMatchObject({ text: greeting, questions: [], errors: [] });
        expect(stage.gemini.requests).toMatchObject([{ text: "hello", fresh: true }]);
        expect(await stage.timesInHistory("hello")).toBe(1);
        expect(await stage.timesInHistory(greeting)).toBe(1);
      });

      it("follows the ones before it", async () => {
        const stage = await openConversationStage();
        await stage.say(mode, "hello");
        await stage.say(mode, "hello again");
        const texts = stage.gemini.requests
          .at(-1)
          ?.contents.flatMap(({ parts = [] }) => parts.map((part) => part.text));
        expect(texts).toEqual(["hello", greeting, "hello again"]);
      });

      it("gets the results of free calls within one turn", async () => {
        const stage = await openConversationStage();
        const reply = await stage.say(mode, "weather");
        expect(reply).toMatchObject({ progress: "done", text: `get_weather gave ${weather}.`, questions: [] });
        expect(stage.told()).toEqual([weather]);
        expect(await stage.rows()).toEqual([]);
      });
    });

    describe("the schema of a tool", () => {
      const transfer = (ran: unknown[]) =>
        new FunctionTool({
          name: "transfer",
          description: "Transfers money.",
          parameters: z.object({ amount: z.number().default(5000), to: z.string().transform((to) => to.trim()) }),
          execute: (args) => {
            ran.push(args);
            return { sent: args.amount };
          },
        });
      const rules: Rule[] = [
        { when: ({ responses }) => responses.length > 0, say: [text("Sent.")] },
        { say: [call("transfer", { to: " Hanako " })] },
      ];
      const parsed = { amount: 5000, to: "Hanako" };

      it("is applied before the policy judges the call and before a person is asked, and what was shown runs", async () => {
        const ran: unknown[] = [];
        const judged: unknown[] = [];
        const confirm = (args: Record<string, unknown>) => {
          judged.push(args);
          return Number(args["amount"]) > 100;
        };
        const stage = await openConversationStage({
          rules,
          tools: [transfer(ran)],
          policies: { transfer: { confirm } },
        });
        const { reply, progress, chunks } = await stage.say(mode, "send");
        expect(progress).toBe("parked");
        expect(judged).toEqual([parsed]);
        const inputs = chunks.flatMap((chunk) => (chunk.type === "tool-input-available" ? [chunk.input] : []));
        expect(inputs.at(-1)).toEqual(parsed);
        const [row] = await stage.rows();
        expect(JSON.parse(row?.input ?? "")).toEqual(parsed);
        expect(JSON.parse(row?.rawInput ?? "")).toEqual({ to: " Hanako " });
        await stage.decide(true);
        expect(ran).toEqual([parsed]);
        const { conversation, log } = await stage.begin(mode, settled, reply);
        expect(await conversation.deliver(log)).toBe("ask");
        expect(await conversation.listen(log)).toBe("done");
        conversation.leave();
      });
    });

    describe("a gated call", () => {
      it("parks the turn: the question is in the log and in the ledger, and nothing has run", async () => {
        const stage = await openConversationStage();
        const { said, input } = message("pay");
        const { conversation, log, turn, shown } = await stage.begin(mode, input);
        await conversation.say(said, log);
        expect(await conversation.listen(log)).toBe("parked");
        conversation.leave();
        const rows = await stage.rows();
        expect(rows).toMatchObject([
          { state: "pending", toolName: "process_payment", mode, messageId: turn.reply, gated: true, told: false },
        ]);
        expect((await shown()).questions).toEqual(rows.map(({ id }) => id));
        expect(stage.payments).toEqual([]);
        expect(stage.gemini.requests).toHaveLength(1);
        expect(await stage.responsesPerCall()).toEqual([0]);
      });

      it.each([
        { approved: true, outcome: paid(50), payments: [50] },
        { approved: false, outcome: '"status":"denied"', payments: [] },
      ])("goes on after a decision (approved: $approved), and the model gets one response", async (decision) => {
        const stage = await openConversationStage();
        const { reply } = await stage.say(mode, "pay");
        await stage.decide(decision.approved);
        const { conversation, log, shown } = await stage.begin(mode, settled, reply);
        expect(await conversation.deliver(log)).toBe("ask");
        expect(await conversation.listen(log)).toBe("done");
        conversation.leave();
        expect((await shown()).text).toContain(decision.outcome);
        expect(stage.told()).toEqual([expect.stringContaining(decision.outcome)]);
        expect(stage.gemini.requests).toHaveLength(2);
        expect(stage.payments).toEqual(decision.payments);
        expect(await stage.responsesPerCall()).toEqual([1]);
        expect(await stage.rows()).toMatchObject([{ told: true }]);
        await expectNextTurnWorks(stage, mode);
        expect(stage.told()).toHaveLength(1);
      });

      it("may lead to another one", async () => {
        const stage = await openConversationStage();
        const { reply } = await stage.say(mode, "chain");
        await stage.decide(true);
        expect(await stage.deliver(mode, reply)).toMatchObject({ delivered: "ask", progress: "parked" });
        await stage.decide(true);
        expect(await stage.deliver(mode, reply)).toMatchObject({ delivered: "ask", progress: "done" });
        expect(stage.payments).toEqual([1, 2]);
        expect(stage.told()).toEqual([paid(1), paid(2)]);
        expect(await stage.responsesPerCall()).toEqual([1, 1]);
      });

      it("keeps the result of a free call beside it", async () => {
        const stage = await openConversationStage();
        const { reply, progress } = await stage.say(mode, "mixed");
        expect(progress).toBe("parked");
        await expectResultsGiven(stage, differs.resultsOfHalfAStep);
        await stage.decide(true);
        expect(await stage.deliver(mode, reply)).toMatchObject({ delivered: "ask", progress: "done" });
        expect(stage.told()).toEqual([weather, paid(50)]);
        expect(await stage.responsesPerCall()).toEqual([1, 1]);
      });

      it("waits for the other one of the same step, and the model gets each outcome once", async () => {
        const stage = await openConversationStage();
        const { reply, questions } = await stage.say(mode, "two payments");
        expect(questions).toHaveLength(2);
        await stage.decide(true, { amount: 40 });
        expect((await stage.deliver(mode, reply)).delivered).toBe(differs.whileWaiting);
        await expectResultsGiven(stage, differs.resultsOfHalfAStep);
        expect(stage.gemini.requests).toHaveLength(1);
        await stage.decide(false, { amount: 30 });
        expect(await stage.deliver(mode, reply)).toMatchObject({ delivered: "ask", progress: "done" });
        // In the order of the calls, not of the decisions.
        expect(stage.told()).toEqual([expect.stringContaining('"status":"denied"'), paid(40)]);
        expect(stage.payments).toEqual([40]);
        expect(await stage.responsesPerCall()).toEqual([1, 1]);
      });

      it("is cancelled by new text, or goes on waiting, and its outcome is told once", async () => {
        const stage = await openConversationStage();
        const { reply } = await stage.say(mode, "pay");
        const next = await stage.say(mode, "hello");
        expect(next).toMatchObject({ progress: "done", errors: [] });
        expect(next.text).toContain(greeting);
        const rows = await stage.rows();
        expect(rows).toMatchObject([{ state: differs.questionAfterNewText }]);
        const isCancelled = differs.questionAfterNewText === "cancelled";
        expect(next.ended.map(({ id }) => id)).toEqual(isCancelled ? rows.map(({ id }) => id) : []);
        expect(stage.told()).toHaveLength(isCancelled ? 1 : 0);
        if (!isCancelled) {
          await stage.decide(true);
          expect(await stage.deliver(mode, reply)).toMatchObject({ delivered: "ask", progress: "done" });
        }
        expect(stage.told()).toHaveLength(1);
        expect(await stage.responsesPerCall()).toEqual([1]);
        await expectNextTurnWorks(stage, mode);
        expect(stage.told()).toHaveLength(1);
      });
    });

    describe("deliver", () => {
      it("does not ask the model when no call was made", async () => {
        const stage = await openConversationStage();
        const { reply } = await stage.say(mode, "hello");
        expect((await stage.deliver(mode, reply)).delivered).toBe("done");
        expect(stage.gemini.requests).toHaveLength(1);
      });

      it("does not ask the model before the decision", async () => {
        const stage = await openConversationStage();
        const { reply } = await stage.say(mode, "pay");
        expect((await stage.deliver(mode, reply)).delivered).toBe(differs.whileWaiting);
        expect(stage.gemini.requests).toHaveLength(1);
        await expectResultsGiven(stage, 0);
      });

      it("does not tell the model an outcome a second time", async () => {
        const stage = await openConversationStage();
        const { reply } = await stage.say(mode, "pay");
        await stage.decide(true);
        await stage.deliver(mode, reply);
        expect((await stage.deliver(mode, reply)).delivered).toBe("done");
        expect(stage.gemini.requests).toHaveLength(2);
        expect(await stage.responsesPerCall()).toEqual([1]);
      });
    });

    describe("record", () => {
      it("asks the model nothing, and the model gets the outcome once with the next message", async () => {
        const stage = await openConversationStage();
        const { reply } = await stage.say(mode, "pay");
        await stage.decide(true);
        const { conversation } = await stage.begin(mode, settled, reply);
        await conversation.record();
        conversation.leave();
        expect(stage.gemini.requests).toHaveLength(1);
        await expectResultsGiven(stage, 0);
        const next = await stage.say(mode, "hello");
        expect(next.text).toContain(greeting);
        expect(stage.told()).toEqual([paid(50)]);
        expect(await stage.responsesPerCall()).toEqual([1]);
        expect(await stage.rows()).toMatchObject([{ told: true }]);
      });

      it("notes an outcome that came too late to be the response", async () => {
        const slow = gate();
        const tool = new FunctionTool({
          name: "slow_payment",
          description: "Pays slowly.",
          requireConfirmation: true,
          parameters: z.object({}),
          execute: async () => {
            await slow.opened;
            return { paid: 60 };
          },
        });
        const rules = [{ when: /^slowly$/, say: [call("slow_payment")] }, ...liveRules];
        const stage = await openConversationStage({ tools: [tool], rules });
        await stage.say("request", "slowly");
        const deciding = stage.decide(true);
        await stage.until(async () => (await stage.rows()).some(({ state }) => state === "executing"));
        await stage.say("request", "hello");
        slow.open();
        await deciding;

        const requests = stage.gemini.requests.length;
        const { conversation } = await stage.begin(mode, settled);
        await conversation.record();
        await conversation.record();
        conversation.leave();
        const texts = async () => (await stage.events()).map(({ content }) => JSON.stringify(content) ?? "");
        expect(count(await texts(), "ended as succeeded")).toBe(differs.notesByRecord);
        expect(stage.gemini.requests).toHaveLength(requests);
        await expectNextTurnWorks(stage, mode);
        expect(count(stage.told(), "ended as succeeded")).toBe(1);
        expect(await stage.responsesPerCall()).toEqual([1]);
      });
    });

    describe("abandon", () => {
      it("keeps a message that was never said", async () => {
        const stage = await openConversationStage();
        const { said, input } = message("never said");
        const begun = await stage.begin(mode, input);
        await giveUp(begun);
        await begun.conversation.abandon(said);
        expect(await stage.timesInHistory("never said")).toBe(1);
        expect(stage.gemini.requests).toEqual([]);
        await expectNextTurnWorks(stage, mode);
        expect(timesAsked(stage, "never said")).toBe(1);
      });

      it("keeps a message that the model got once", async () => {
        const stage = await openConversationStage();
        const { said, input } = message("hello, you");
        const begun = await stage.begin(mode, input);
        await begun.conversation.say(said, begun.log);
        await begun.conversation.listen(begun.log);
        await giveUp(begun);
        expect(await stage.timesInHistory("hello, you")).toBe(1);
        await expectNextTurnWorks(stage, mode);
        expect(timesAsked(stage, "hello, you")).toBe(1);
      });

      it("keeps a message that is said again in the next turn once", async () => {
        const stage = await openConversationStage();
        const { said, input } = message("hello, you");
        await giveUp(await stage.begin(mode, input));
        expect(await stage.say(mode, said)).toMatchObject({ progress: "done", text: greeting });
        expect(await stage.timesInHistory("hello, you")).toBe(1);
        expect(timesAsked(stage, "hello, you")).toBe(1);
      });

      it("changes nothing in a turn without a message", async () => {
        const stage = await openConversationStage();
        await stage.say(mode, "hello");
        const before = await stage.events();
        const { conversation } = await stage.begin(mode, settled);
        await conversation.abandon(undefined);
        expect(await stage.events()).toEqual(before);
      });
    });

    describe("a stop", () => {
      const stop = new Error("Stop.");
      const rejection = (work: Promise<unknown>) =>
        work.then(
          () => undefined,
          (error: unknown) => error,
        );
      const slowRules = (until: Promise<void>) => [
        { when: /^slowly$/, say: [text("One "), pause(until), text("two.")] },
        ...liveRules,
      ];

      it("rejects while the turn listens, keeps the message, and the next turn works", async () => {
        const stage = await openConversationStage({ rules: slowRules(gate().opened) });
        const { said, input } = message("slowly");
        const begun = await stage.begin(mode, input);
        const { conversation, log } = begun;
        await conversation.say(said, log);
        const stopped = rejection(conversation.listen(log));
        await stage.until(async () => (await begun.shown()).text !== "");
        begun.stop(stop);
        expect(await stopped).toBe(stop);
        await giveUp(begun);
        expect((await begun.shown()).text).toBe("One ");
        expect(await stage.timesInHistory("slowly")).toBe(1);
        await expectNextTurnWorks(stage, mode);
        expect(timesAsked(stage, "slowly")).toBe(1);
      });

      it("rejects while the model does not respond at all", async () => {
        const silent: Rule[] = [{ say: [pause(gate().opened)] }];
        const stage = await openConversationStage({ rules: silent, live: { silent: true } });
        const { said, input } = message("hello, you");
        const begun = await stage.begin(mode, input);
        const talk = async () => {
          await begun.conversation.say(said, begun.log);
          await begun.conversation.listen(begun.log);
        };
        const stopped = rejection(talk());
        await Promise.race([stage.gemini.waitForRequest(1), stage.gemini.live.waitForSession(1)]);
        begun.stop(stop);
        expect(await stopped).toBe(stop);
        await giveUp(begun);
        expect(await stage.timesInHistory("hello, you")).toBe(1);
        stage.gemini.reset(liveRules, { live: {} });
        await expectNextTurnWorks(stage, mode);
        expect(timesAsked(stage, "hello, you")).toBe(1);
      });

      it("keeps an outcome that the model was given, and it is not told again", async () => {
        const until = gate().opened;
        const rules: Rule[] = [
          { when: ({ responses, fresh }) => !fresh && responses.length > 0, say: [pause(until)] },
          ...liveRules,
        ];
        const stage = await openConversationStage({ rules });
        const { reply } = await stage.say(mode, "pay");
        await stage.decide(true);
        const begun = await stage.begin(mode, settled, reply);
        expect(await begun.conversation.deliver(begun.log)).toBe("ask");
        const stopped = rejection(begun.conversation.listen(begun.log));
        await stage.gemini.waitForRequest(2);
        begun.stop(stop);
        expect(await stopped).toBe(stop);
        await giveUp(begun);
        expect(await stage.responsesPerCall()).toEqual([1]);
        await expectNextTurnWorks(stage, mode);
        expect(count(stage.told(), paid(50))).toBe(1);
        expect(await stage.rows()).toMatchObject([{ told: true }]);
      });

      it("refuses a call that reaches the gate after the turn has left", async () => {
        const reached = gate();
        const answered = gate();
        const confirm = async () => {
          reached.open();
          await answered.opened;
          return true;
        };
        const stage = await openConversationStage({ policies: { get_weather: { confirm } } });
        const { said, input } = message("weather");
        const begun = await stage.begin(mode, input);
        await begun.conversation.say(said, begun.log);
        const stopped = rejection(begun.conversation.listen(begun.log));
        await reached.opened;
        begun.stop(stop);
        expect(await stopped).toBe(stop);
        await giveUp(begun);
        answered.open();
        await stage.until(() => stage.logged.includes("A call could not be held."));
        expect(await stage.rows()).toEqual([]);
        expect((await begun.shown()).questions).toEqual([]);
        await expectNextTurnWorks(stage, mode);
      });
    });

    describe("a model that fails", () => {
      const failing = [{ when: /^fail$/, say: [fail(503, "Overloaded.")] }, ...liveRules];

      it("is reported once, the message is kept, and the next turn works", async () => {
        const stage = await openConversationStage({ rules: failing });
        const { said, input } = message("fail");
        const begun = await stage.begin(mode, input);
        const { conversation, log } = begun;
        await conversation.say(said, log);
        const failure = await conversation.listen(log).then(
          async (progress): Promise<Differences["modelFailure"]> => {
            await log.finish(progress);
            return "an error in the log";
          },
          async (error: unknown): Promise<Differences["modelFailure"]> => {
            await log.fail(error);
            return "listen rejects";
          },
        );
        conversation.leave();
        await log.end();
        await conversation.abandon(said);
        expect(failure).toBe(differs.modelFailure);
        expect((await begun.shown()).errors).toEqual([expect.stringContaining("Overloaded.")]);
        expect(await stage.timesInHistory("fail")).toBe(1);
        await expectNextTurnWorks(stage, mode);
        expect(timesAsked(stage, "fail")).toBe(1);
      });

      it("has the outcome that it was given, and it is not told again", async () => {
        let failures = 0;
        const rules: Rule[] = [
          {
            when: ({ responses, fresh }) => !fresh && responses.length > 0,
            say: () => {
              failures += 1;
              return [fail(503, "Overloaded.")];
            },
          },
          ...liveRules,
        ];
        const stage = await openConversationStage({ rules });
        const { reply } = await stage.say(mode, "pay");
        await stage.decide(true);
        const begun = await stage.begin(mode, settled, reply);
        expect(await begun.conversation.deliver(begun.log)).toBe("ask");
        await begun.conversation.listen(begun.log).catch(() => undefined);
        await giveUp(begun);
        expect(failures).toBe(1);
        expect((await stage.deliver(mode, reply)).delivered).toBe("done");
        await expectNextTurnWorks(stage, mode);
        expect(stage.told()).toEqual([expect.stringContaining(paid(50))]);
        expect(await stage.responsesPerCall()).toEqual([1]);
      });

      it("leaves one copy of a message in the history, however often it is said again", async () => {
        let failures = 0;
        const say = () => (failures++ < 2 ? [fail(503, "Overloaded.")] : [text("At last.")]);
        const stage = await openConversationStage({ rules: [{ when: /^flaky$/, say }, ...liveRules] });
        const { said, input } = message("flaky");
        for (const _ of [1, 2]) {
          const begun = await stage.begin(mode, input);
          await begun.conversation.say(said, begun.log);
          await begun.conversation.listen(begun.log).catch(() => undefined);
          await giveUp(begun);
        }
        expect(await stage.say(mode, said)).toMatchObject({ progress: "done", text: "At last." });
        expect(await stage.timesInHistory("flaky")).toBe(1);
      });
    });

    describe("a change of the mode", () => {
      it.each([true, false])("between question and answer (approved: %s)", async (approved) => {
        const outcome = approved ? paid(50) : '"status":"denied"';
        const stage = await openConversationStage();
        const { reply } = await stage.say(mode, "pay");
        await stage.decide(approved);
        const next = await stage.deliver(other, reply);
        expect(next).toMatchObject({ delivered: "ask", progress: "done", errors: [] });
        expect(next.text).toContain(approved ? paid(50) : "denied");
        expect(count(stage.told(), outcome)).toBe(1);
        expect(await stage.rows()).toMatchObject([{ mode, told: true }]);
        expect(await stage.responsesPerCall()).toEqual([1]);
        // Only one conversation speaks for the agent at a time.
        await stage.until(() => stage.gemini.live.open === (other === "live" ? 1 : 0));
        await expectNextTurnWorks(stage, mode);
        await expectNextTurnWorks(stage, other);
        expect(stage.payments).toEqual(approved ? [50] : []);
      });

      it("keeps what was said", async () => {
        const stage = await openConversationStage();
        await stage.say(mode, "I am Hanako");
        await expectNextTurnWorks(stage, other);
        expect(timesAsked(stage, "I am Hanako")).toBe(1);
        expect(await stage.timesInHistory("I am Hanako")).toBe(1);
      });

      it("records each call with the mode of the turn that made it", async () => {
        const stage = await openConversationStage();
        const { reply } = await stage.say(mode, "pay");
        await stage.decide(true);
        await stage.deliver(other, reply);
        await stage.say(other, "pay");
        expect((await stage.rows()).map((row) => row.mode)).toEqual([mode, other]);
      });
    });

    describe("an agent run as a tool", () => {
      it("waits for its own gated call, goes on after the decision, and its result is the response", async () => {
        const stage = await openConversationStage(behindClerk);
        const question = await stage.say(mode, "ask the clerk");
        expect(question.progress).toBe("parked");
        expect(question.questions).toHaveLength(1);
        const rows = await stage.rows();
        expect(rows).toMatchObject([
          { toolName: "clerk", state: "approved", gated: false, mode },
          { toolName: "process_payment", state: "pending", gated: true, mode },
        ]);
        expect(rows[1]?.session).toBe(rows[0]?.innerSession);
        expect((await stage.deliver(mode, question.reply)).delivered).toBe(differs.whileWaiting);

        await stage.decide(true);
        const next = await stage.deliver(mode, question.reply);
        expect(next).toMatchObject({ delivered: "ask", progress: "done", errors: [] });
        expect(next.text).toContain("clerk gave");
        expect(stage.payments).toEqual([50]);
        expect(count(stage.told(), "process_payment gave")).toBe(1);
        expect(await stage.responsesPerCall()).toEqual([1]);
        expect(await stage.rows()).toMatchObject([{ state: "succeeded" }, { state: "succeeded" }]);
        expect((await stage.rows()).map(({ told }) => told)).toEqual([true, true]);
        await expectNextTurnWorks(stage, mode);
      });

      it("goes on in the other mode", async () => {
        const stage = await openConversationStage(behindClerk);
        const { reply } = await stage.say(mode, "ask the clerk");
        await stage.decide(true);
        expect(await stage.deliver(other, reply)).toMatchObject({ delivered: "ask", progress: "done", errors: [] });
        expect(stage.payments).toEqual([50]);
        expect(await stage.responsesPerCall()).toEqual([1]);
        await expectNextTurnWorks(stage, mode);
      });
    });

    it("has no unasked speech when the model only replied", async () => {
      const stage = await openConversationStage();
      await stage.say(mode, "hello");
      expect((await stage.begin(mode, { kind: "speech" })).conversation.hasSpeech).toBe(false);
    });
  });
}

/** What only a live model does: it speaks between turns. */
export function describeUnaskedSpeech(): void {
  const mode = "live";
  describe("a model that speaks unasked", () => {
    const speech = (words: string) => ({
      serverContent: { modelTurn: { role: "model", parts: [{ text: words }] } },
    });
    const end = { serverContent: { turnComplete: true } };

    it("is heard by the next turn that listens", async () => {
      const stage = await openConversationStage();
      await stage.say(mode, "hello");
      await stage.speakUnasked(speech("By the way."));
      stage.gemini.live.sessions.at(-1)?.send(end);
      const { conversation, log, shown } = await stage.begin(mode, { kind: "speech" });
      expect(conversation.hasSpeech).toBe(true);
      expect(await conversation.listen(log)).toBe("done");
      expect(conversation.hasSpeech).toBe(false);
      conversation.leave();
      expect((await shown()).text).toBe("By the way.");
      expect(await stage.timesInHistory("By the way.")).toBe(1);
      await expectNextTurnWorks(stage, mode);
    });

    it("is interrupted by a message, and what it said is not shown", async () => {
      const stage = await openConversationStage();
      await stage.say(mode, "hello");
      await stage.speakUnasked(speech("By the way."));
      expect(await stage.say(mode, "hello")).toMatchObject({ progress: "done", text: greeting });
    });

    it("is not heard by request: the connection is closed", async () => {
      const stage = await openConversationStage();
      await stage.say(mode, "hello");
      await stage.speakUnasked(speech("By the way."));
      expect((await stage.begin("request", { kind: "speech" })).conversation.hasSpeech).toBe(false);
      expect(await stage.say("request", "hello")).toMatchObject({ progress: "done", text: greeting });
      await stage.until(() => stage.gemini.live.open === 0);
    });

    it("cannot make a call until a turn shows it", async () => {
      const stage = await openConversationStage();
      await stage.say(mode, "hello");
      const args = { amount: 70, recipient: "Hanako" };
      await stage.speakUnasked({ toolCall: { functionCalls: [{ id: "unasked", name: "process_payment", args }] } });
      expect(await stage.rows()).toEqual([]);
      const { conversation, log, turn, shown } = await stage.begin(mode, { kind: "speech" });
      expect(await conversation.listen(log)).toBe("parked");
      conversation.leave();
      expect(await stage.rows()).toMatchObject([{ state: "pending", mode, messageId: turn.reply }]);
      expect((await shown()).questions).toHaveLength(1);
    });
  });
}

/** Checks how many results of tools the model has been given, by the last request or as messages of a connection. */
async function expectResultsGiven({ gemini }: ConversationStage, expected: number): Promise<void> {
  const { live, requests } = gemini;
  if (expected > 0 && live.sessions.length > 0)
    await live.waitForMessage(({ toolResponse }) => toolResponse !== undefined);
  const sent = live.sessions.flatMap(({ messages }) =>
    messages.flatMap(({ toolResponse }) => toolResponse?.functionResponses ?? []),
  );
  expect((requests.at(-1)?.responses.length ?? 0) + sent.length).toBe(expected);
}

/** How often a text of the user is in the model's last request. */
function timesAsked({ gemini }: ConversationStage, words: string): number {
  const parts = gemini.requests.at(-1)?.contents.flatMap((content) => content.parts ?? []) ?? [];
  return parts.filter((part) => part.text === words).length;
}
