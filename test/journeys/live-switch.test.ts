/** One chat in two modes: live and by requests, in any order, also at random. A question of one mode is answered in the other. */
import { FunctionTool } from "@google/adk";
import { call, gate } from "adk-stream-protocol/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  behindClerk,
  expectPaid,
  expectWhole,
  liveRules,
  type LiveStage,
  openLiveStage,
} from "../fixtures/live-stage.ts";
import { patience } from "../fixtures/nodes.ts";
import { type Befalls, type Begin, play } from "../fixtures/play.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import { messageIdOf, sequence, states, textOf } from "../fixtures/world.ts";

const behaviors = ["BLOCKING", "NON_BLOCKING"] as const;
const byRequest = { live: false };

const goesOn = "start toa ss text fs finish [DONE]";
const denied = "start tod ss text fs finish [DONE]";
const spoken = "start ss text fs finish [DONE]";

const answers = async (stage: LiveStage, ...decisions: boolean[]) => {
  const open = await stage.pending();
  expect(open).toHaveLength(decisions.length);
  return open.map(({ id }, index) => ({ id, approved: decisions[index]! }));
};
const statesOf = async (stage: LiveStage) => (await stage.rows()).map(({ state }) => state);
/** The history in the last model request over HTTP. */
const history = (stage: LiveStage) =>
  JSON.stringify(stage.gemini.requests.findLast(({ wire }) => wire === "http")?.contents ?? []).replaceAll("\\", "");
const count = (text: string, part: string) => text.split(part).length - 1;

for (const behavior of behaviors)
  describe(`a chat that changes its mode, ${behavior}`, () => {
    for (const approved of [true, false]) {
      it(`asked live, answered by request: ${approved}`, async () => {
        const stage = await openLiveStage({ behavior });
        const question = await stage.say("pay");
        const reply = await stage.answer(await answers(stage, approved), byRequest);
        expect(sequence(reply)).toBe(approved ? goesOn : denied);
        expect(messageIdOf(reply)).toBe(messageIdOf(question));
        expect(stage.payments).toHaveLength(approved ? 1 : 0);
        await stage.until(() => stage.gemini.live.open === 0);
        expect(stage.responses()).toEqual([]);
        expect(stage.gemini.requests.map(({ wire }) => wire)).toEqual(["live", "http"]);
        expect(stage.gemini.requests[1]!.responses).toHaveLength(1);
        await expectWhole(stage);
        expect(sequence(await stage.say("hello"))).toBe(spoken);
        await expectWhole(stage);
      });

      it(`asked by request, answered live: ${approved}`, async () => {
        const stage = await openLiveStage({ behavior });
        const question = await stage.say("pay", byRequest);
        const reply = await stage.answer(await answers(stage, approved));
        expect(sequence(reply)).toBe(approved ? goesOn : denied);
        expect(messageIdOf(reply)).toBe(messageIdOf(question));
        expect(stage.payments).toHaveLength(approved ? 1 : 0);
        expect(stage.responses()).toEqual([]);
        expect(stage.textToModel().filter((said) => said.startsWith("[context"))).toHaveLength(1);
        expect(stage.gemini.requests.map(({ wire }) => wire)).toEqual(["http", "live"]);
        await expectWhole(stage);
        expect(sequence(await stage.say("hello", byRequest))).toBe(spoken);
        await expectWhole(stage);
      });
    }

    it("cancels a live question when the user writes by request", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("pay");
      const [row] = await stage.rows();
      const reply = await stage.say("hello", byRequest);
      expect(textOf(reply)).toBe("Hello there, friend.");
      expect(states(reply)).toEqual(["cancelled"]);
      expect(await statesOf(stage)).toEqual(["cancelled"]);
      expect((await stage.decide(row!.id, true)).outcome).toBe("refused");
      expect(stage.payments).toEqual([]);
      await expectWhole(stage);
      expect(textOf(await stage.say("hello"))).toBe("Hello there, friend.");
      await expectWhole(stage);
    });

    it("cancels a live question whose step is still running when the user writes by request", async () => {
      const slow = gate();
      const tool = new FunctionTool({
        name: "slow_free",
        description: "Takes its time.",
        parameters: z.object({}),
        execute: async () => {
          await slow.opened;
          return { slow: true };
        },
      });
      const stage = await openLiveStage({
        behavior,
        tools: [tool],
        rules: [
          {
            when: /^go$/,
            say: [call("process_payment", { amount: 50, recipient: "Hanako" }), call("slow_free")],
          },
          ...liveRules,
        ],
      });
      const asking = stage.say("go");
      await stage.until(async () => (await statesOf(stage)).includes("pending"));
      const hello = stage.say("hello", byRequest);
      await asking;
      slow.open();
      expect(textOf(await hello)).toBe("Hello there, friend.");
      await stage.untilIdle();
      expect(await statesOf(stage)).toEqual(["cancelled"]);
      expect(history(stage)).not.toContain("held-");
      expect(JSON.stringify(stage.responses())).not.toContain("held-");
      await expectWhole(stage);
    });

    it("keeps a question of a request when the user writes live, and tells the model its outcome as a note", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("pay", byRequest);
      expect(textOf(await stage.say("hello"))).toBe("Hello there, friend.");
      expect(await statesOf(stage)).toEqual(["pending"]);
      const reply = await stage.answer(await answers(stage, true));
      expect(sequence(reply)).toBe(goesOn);
      expect(textOf(reply)).toContain('Noted: succeeded: {"paid":50}');
      expect(stage.payments).toHaveLength(1);
      await expectWhole(stage);
      await stage.say("hello", byRequest);
      expect(count(history(stage), 'Noted: succeeded: {"paid":50}')).toBe(1);
      await expectWhole(stage);
    });

    it("keeps all results of a step of a request with a gated and an ungated call when it is answered live", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("mixed", byRequest);
      expect(sequence(await stage.answer(await answers(stage, true)))).toBe(goesOn);
      expect(stage.textToModel().join("\n")).toContain('"temperature":21');
      await expectWhole(stage);
      await stage.say("hello", byRequest);
      const { open } = await expectWhole(stage);
      expect(open).toEqual([]);
    });

    it("answers two payments of a request live, in reverse order, then continues by request", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("two payments", byRequest);
      const [first, second] = await answers(stage, true, true);
      await stage.answer([second!]);
      await stage.untilIdle();
      await stage.answer([first!]);
      await stage.untilIdle();
      await stage.say("hello", byRequest);
      expect(stage.payments).toHaveLength(2);
      await expectWhole(stage);
    });

    for (const decisions of [
      [true, true],
      [true, false],
      [false, true],
    ] as const)
      it(`answers two live payments in reverse order, then continues by request: ${decisions.join(", ")}`, async () => {
        const stage = await openLiveStage({ behavior });
        await stage.say("two payments");
        const [first, second] = await answers(stage, ...decisions);
        await stage.answer([second!]);
        await stage.untilIdle();
        await stage.answer([first!]);
        await stage.untilIdle();
        expect(textOf(await stage.say("hello", byRequest))).toBe("Hello there, friend.");
        await expectWhole(stage);
        const told = history(stage);
        for (const [index, amount] of [30, 40].entries())
          if (decisions[index]) expect(told).toContain(`{"paid":${amount}}`);
      });

    it("answers one of two live payments live and the other by request", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("two payments");
      const [first, second] = await answers(stage, true, true);
      await stage.answer([second!]);
      await stage.untilIdle();
      const reply = await stage.answer([first!], byRequest);
      expect(sequence(reply)).toBe(goesOn);
      expect(stage.payments).toHaveLength(2);
      await expectWhole(stage);
      expect(history(stage)).toContain('{"paid":30}');
      expect(history(stage)).toContain('{"paid":40}');
    });

    it("answers one of two payments of a request live and the other by request", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("two payments", byRequest);
      const [first, second] = await answers(stage, true, true);
      await stage.answer([second!]);
      await stage.untilIdle();
      await stage.answer([first!], byRequest);
      await stage.untilIdle();
      expect(stage.payments).toHaveLength(2);
      await expectWhole(stage);
      await stage.say("hello", byRequest);
      await expectWhole(stage);
      expect(count(history(stage), '{"paid":30}')).toBeGreaterThan(0);
      expect(count(history(stage), '{"paid":40}')).toBeGreaterThan(0);
    });

    it("loses no message between a live question and its answer by request", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("pay");
      await stage.say("hello, my name is Kim");
      const reply = await stage.answer(await answers(stage, true), byRequest);
      expect(sequence(reply)).toBe(goesOn);
      const told = history(stage);
      expect(told).toContain("my name is Kim");
      expect(told).toContain("Hello there, friend.");
      expect(told).toContain('{"paid":50}');
      await expectWhole(stage);
      await stage.say("hello", byRequest);
      expect(history(stage)).toContain("my name is Kim");
      await expectWhole(stage);
    });

    it("gives a live session the messages and outcomes of requests, as text", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("hello, my name is Kim", byRequest);
      await stage.say("weather", byRequest);
      await stage.say("pay", byRequest);
      await stage.answer(await answers(stage, true), byRequest);
      expect(sequence(await stage.say("hello"))).toBe(spoken);
      const sentToModel = stage.textToModel();
      expect(sentToModel[0]).toBe("hello, my name is Kim");
      expect(sentToModel.filter((said) => said.includes('{"paid":50}') && said.startsWith("["))).toHaveLength(1);
      expect(sentToModel.some((said) => said.includes("get_weather") && said.includes("Tokyo"))).toBe(true);
      expect(sentToModel.at(-1)).toBe("hello");
      expect(stage.gemini.live.sessions).toHaveLength(1);
      await expectWhole(stage);
    });

    it("gives requests the messages and outcomes of the live session", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("hello, my name is Kim");
      await stage.say("pay");
      await stage.answer(await answers(stage, true));
      await stage.untilIdle();
      expect(sequence(await stage.say("hello", byRequest))).toBe(spoken);
      expect(history(stage)).toContain("my name is Kim");
      expect(count(history(stage), 'functionResponse":{')).toBe(1);
      await stage.until(() => stage.gemini.live.open === 0);
      await expectWhole(stage);
    });

    it("switches ten times, with one live connection at a time", async () => {
      const stage = await openLiveStage({ behavior });
      for (let turn = 0; turn < 10; turn += 1) {
        await stage.say("pay", { live: turn % 2 === 0 });
        await stage.answer(await answers(stage, true), { live: turn % 3 === 0 });
        await stage.untilIdle();
        expect(stage.gemini.live.open).toBeLessThanOrEqual(2);
      }
      expect(stage.payments).toHaveLength(10);
      await expectWhole(stage);
    });

    it("stops a live reply when the user writes by request", async () => {
      const stage = await openLiveStage({ behavior });
      const slow = gate();
      stage.setPace(slow.opened);
      await stage.say("pay");
      const reading = stage.answer(await answers(stage, true));
      await stage.until(() => stage.payments.length === 1);
      expect(textOf(await stage.say("hello", byRequest))).toBe("Hello there, friend.");
      await reading;
      slow.open();
      await stage.untilIdle();
      await stage.say("hello", byRequest);
      expect(await statesOf(stage)).toEqual(["succeeded"]);
      expect(history(stage)).toContain('{"paid":50}');
      await expectWhole(stage);
    });
  });

// ── at random ────────────────────────────────────────────────────────────────────────────────────────────────────────

type Act =
  | { do: "say"; words: string; live: boolean; waits: boolean }
  | { do: "answer"; which: number; approved: boolean; how: "live" | "request" | "aside" | "outside"; times: number }
  | { do: "stop" | "drop" | "close" | "go away" }
  | { do: "regenerate" | "edit"; live: boolean; which: number }
  | Befalls;

const say = fc.record({
  do: fc.constant("say" as const),
  words: fc.constantFrom("pay", "two payments", "mixed", "chain", "hello", "weather"),
  live: fc.integer({ min: 0, max: 3 }).map((n) => n > 0),
  waits: fc.boolean(),
});
const answer = fc.record({
  do: fc.constant("answer" as const),
  which: fc.nat(2),
  approved: fc.integer({ min: 0, max: 2 }).map((n) => n > 0),
  how: fc.constantFrom("live" as const, "live" as const, "request" as const, "aside" as const, "outside" as const),
  times: fc.integer({ min: 1, max: 3 }),
});
const yieldTicks = fc.record({ do: fc.constant("yield" as const), ticks: fc.integer({ min: 1, max: 40 }) });
const passTime = fc.record({ do: fc.constant("pass time" as const), ms: fc.constantFrom(5000, 31_000, 61_000) });
const single = fc.constantFrom<Act>(
  { do: "stop" },
  { do: "drop" },
  { do: "close" },
  { do: "go away" },
  { do: "slow tools" },
  { do: "quick tools" },
  { do: "wait until idle" },
  { do: "restart" },
  { do: "crash" },
  { do: "regenerate", live: true, which: 0 },
  { do: "regenerate", live: false, which: 1 },
  { do: "edit", live: true, which: 0 },
  { do: "edit", live: true, which: 1 },
);

/** Single acts, and short scenes in which something happens right after an answer. */
const acts: fc.Arbitrary<Act[]> = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: say.map((one): Act[] => [one]) },
      { weight: 5, arbitrary: answer.map((one): Act[] => [one]) },
      { weight: 4, arbitrary: fc.oneof(single, passTime, yieldTicks).map((one): Act[] => [one]) },
      {
        weight: 4,
        arbitrary: fc
          .tuple(say, answer, yieldTicks, fc.oneof(single, say))
          .map(([asks, decides, ticks, last]): Act[] => [{ ...asks, waits: true }, decides, ticks, last]),
      },
    ),
    { minLength: 3, maxLength: 8 },
  )
  .map((scenes) => scenes.flat());

type OurAct = Exclude<Act, Befalls>;

const perform =
  (stage: LiveStage, clerk: boolean) =>
  async (act: OurAct, begin: Begin): Promise<void> => {
    const open = stage.gemini.live.sessions.filter((session) => session.open);
    switch (act.do) {
      case "say": {
        const words = clerk ? `${act.words} (ask the clerk)` : act.words;
        const said = begin(stage.say(words, { live: act.live }));
        if (act.waits) await said;
        break;
      }
      case "answer": {
        const rows = (await stage.rows()).filter(({ gated }) => gated);
        const row = rows.at(-1 - (act.which % Math.max(rows.length, 1)));
        if (!row) break;
        const { approved, how } = act;
        const options = { live: how !== "request", aside: how === "aside" };
        for (let time = 0; time < act.times; time += 1)
          void begin(
            how === "outside" ? stage.decide(row.id, approved) : stage.answer([{ id: row.id, approved }], options),
          );
        break;
      }
      case "stop":
        void begin(stage.stop());
        break;
      case "regenerate":
        void begin(stage.submit({ type: "regenerate", ...(await writtenAt(stage, act.which)) }, { live: act.live }));
        break;
      case "edit": {
        const { messageId: id } = await writtenAt(stage, act.which);
        if (id !== undefined) void begin(stage.say("hello", { live: act.live, id }));
        break;
      }
      case "drop":
        for (const session of open) session.drop();
        break;
      case "close":
        for (const session of open) session.close(1011, "Enough.");
        break;
      case "go away":
        for (const session of open) session.send({ goAway: { timeLeft: "1s" } });
        break;
    }
  };

/** The id of the user's last message, or of an earlier one. */
async function writtenAt(stage: LiveStage, which: number): Promise<{ messageId?: string }> {
  const chat = await stage.store.findChat("local", "chat-1", "root_agent");
  const messages = chat ? await stage.store.messages(chat.id) : [];
  const id = messages.filter(({ message: { role } }) => role === "user").at(-1 - which)?.message.id;
  return id === undefined ? {} : { messageId: id };
}

/** The number of stories per behaviour. To run more: `INTERLEAVINGS=1000 npx vitest run test/journeys/live-switch`. */
const runs = Number(process.env["INTERLEAVINGS"] ?? 30);

const effects = fc.constantFrom("opaque" as const, "idempotent" as const);

describe("random acts in random order, in both modes", () => {
  for (const [index, behavior] of behaviors.entries()) {
    const { name: store, options } = storeKinds[Math.min(index, storeKinds.length - 1)]!;
    it(
      `leave payments that match the ledger, and a valid chat, ${behavior} on ${store}`,
      { timeout: (120_000 + runs * 1000) * patience },
      async () => {
        await fc.assert(
          fc.asyncProperty(acts, effects, fc.nat(3), async (story, effect, dice) => {
            const clerk = dice === 0;
            const stage = await openLiveStage({
              behavior,
              ...(clerk && behindClerk),
              ...options(),
              bridge: { tools: { process_payment: { effect } } },
            });
            try {
              await play(stage, story, perform(stage, clerk));
              await expectPaid(stage);
              // After new text by request nothing is left open: every call has a response, every row is settled and told.
              await stage.say("hello", byRequest);
              await stage.untilIdle();
              const { open, rows } = await expectWhole(stage);
              expect(open).toEqual([]);
              expect(rows.filter(({ state }) => ["pending", "approved", "executing"].includes(state))).toEqual([]);
              expect(await stage.store.dueApprovals()).toEqual([]);
              expect(await stage.store.openTurns()).toEqual([]);
              await stage.until(() => stage.gemini.live.open === 0);
              expect(sequence(await stage.say("hello"))).toMatch(/finish \[DONE\]$/);
            } finally {
              await stage.close();
            }
          }),
          { numRuns: runs },
        );
      },
    );
  }
});
