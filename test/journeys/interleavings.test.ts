import type { ScriptedGemini } from "adk-stream-protocol/gemini";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Befalls, type Begin, play } from "../fixtures/play.ts";
import { expectSound } from "../fixtures/sound.ts";
import { expectTruth, openStage, type Stage, startStageGemini } from "../fixtures/stage.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";

/** What people, clients, the clock and the machine do. Most of it is not waited for, so that it meets what goes on. */
type Act =
  | { do: "say"; words: string; waits: boolean }
  | { do: "answer"; which: number; approved: boolean; outside: boolean; times: number }
  | { do: "answer all"; approved: boolean }
  | { do: "stop" | "regenerate" }
  | Befalls;

const say = fc.record({
  do: fc.constant("say" as const),
  words: fc.constantFrom("pay", "two payments", "mixed", "chain", "hello"),
  waits: fc.boolean(),
});
const answer = fc.record({
  do: fc.constant("answer" as const),
  which: fc.nat(2),
  approved: fc.boolean(),
  outside: fc.boolean(),
  times: fc.integer({ min: 1, max: 3 }),
});
const answerAll = fc.record({ do: fc.constant("answer all" as const), approved: fc.boolean() });
const passTime = fc.record({ do: fc.constant("pass time" as const), ms: fc.constantFrom(0, 5000, 31_000, 61_000) });
const yieldTicks = fc.record({ do: fc.constant("yield" as const), ticks: fc.integer({ min: 1, max: 30 }) });
const failure = fc.constantFrom<Act>(
  { do: "crash" },
  { do: "crash" },
  { do: "restart" },
  { do: "stop" },
  { do: "say", words: "hello", waits: false },
);

/** Single acts, and small scenes that are unlikely to come about by chance: a question that is answered, a tool that is met. */
const acts: fc.Arbitrary<Act[]> = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: say.map((one): Act[] => [one]) },
      { weight: 6, arbitrary: fc.oneof(answer, answerAll).map((one): Act[] => [one]) },
      {
        weight: 4,
        arbitrary: fc
          .constantFrom<Act>(
            { do: "stop" },
            { do: "regenerate" },
            { do: "slow tools" },
            { do: "quick tools" },
            { do: "wait until idle" },
          )
          .map((one) => [one]),
      },
      { weight: 3, arbitrary: fc.oneof(passTime, yieldTicks, failure).map((one): Act[] => [one]) },
      { weight: 1, arbitrary: fc.tuple(say, passTime).map(([asks, late]): Act[] => [{ ...asks, waits: true }, late]) },
      {
        weight: 3,
        arbitrary: fc
          .tuple(say, fc.oneof(answer, answerAll), yieldTicks)
          .map(([asks, ...rest]): Act[] => [{ ...asks, waits: true }, ...rest]),
      },
      {
        weight: 3,
        arbitrary: fc
          .tuple(say, answerAll, yieldTicks, failure)
          .map(([asks, yes, breath, last]): Act[] => [
            { do: "slow tools" },
            { ...asks, waits: true },
            { ...yes, approved: true },
            breath,
            last,
          ]),
      },
    ),
    { minLength: 3, maxLength: 9 },
  )
  .map((scenes) => scenes.flat());

/** Found by a run of this test: after the crash two messages had something to show, and one of them was shown it all. */
const twoMessagesAtOnce: Act[] = [
  { do: "say", words: "pay", waits: true },
  { do: "answer all", approved: true },
  { do: "stop" },
  { do: "slow tools" },
  { do: "say", words: "pay", waits: true },
  { do: "answer all", approved: true },
  { do: "yield", ticks: 1 },
  { do: "crash" },
];

/** Found likewise: an agent was left behind while its tool ran, and nobody told the model what became of that. */
const agentLeftBehind: Act[] = [
  { do: "slow tools" },
  { do: "say", words: "pay", waits: true },
  { do: "answer all", approved: true },
  { do: "yield", ticks: 1 },
  { do: "say", words: "hello", waits: false },
  { do: "yield", ticks: 1 },
  { do: "crash" },
];

type OurAct = Exclude<Act, Befalls>;

const perform =
  (stage: Stage, clerk: boolean) =>
  async (act: OurAct, begin: Begin): Promise<void> => {
    switch (act.do) {
      case "say": {
        const said = begin(stage.say(clerk ? `${act.words} (ask the clerk)` : act.words));
        if (act.waits) await said;
        break;
      }
      case "answer": {
        const rows = (await stage.rows()).filter(({ gated }) => gated);
        const row = rows.at(-1 - (act.which % Math.max(rows.length, 1)));
        if (!row) break;
        const { approved } = act;
        for (let time = 0; time < act.times; time += 1)
          void begin(act.outside ? stage.decide(row.id, approved) : stage.answer([{ id: row.id, approved }]));
        break;
      }
      case "answer all": {
        const answers = (await stage.rows())
          .filter(({ state }) => state === "pending")
          .map(({ id }) => ({ id, approved: act.approved }));
        if (answers.length > 0) void begin(stage.answer(answers));
        break;
      }
      case "stop":
        void begin(stage.stop());
        break;
      case "regenerate":
        void begin(stage.submit({ type: "regenerate" }));
        break;
    }
  };

/** Stories per store; more of them for an evening: `INTERLEAVINGS=1000 npx vitest run test/journeys/interleavings`. */
const runs = Number(process.env["INTERLEAVINGS"] ?? 30);

let gemini: ScriptedGemini;
beforeAll(async () => {
  gemini = await startStageGemini();
});
afterAll(() => gemini.close());

describe("whatever happens in whatever order", () => {
  for (const { name, options } of storeKinds)
    it(
      `payments are what the ledger says, and the chat stays whole, on ${name}`,
      { timeout: 120_000 + runs * 1000 },
      async () => {
        await fc.assert(
          fc.asyncProperty(
            acts,
            fc.constantFrom("opaque" as const, "idempotent" as const, "queryable" as const),
            fc.nat(3).map((n) => n === 0),
            async (story, effect, clerk) => {
              const stage = await openStage({ gemini, effect, clerk, ...options() });
              try {
                await play(stage, story, perform(stage, clerk));
                await expectTruth(stage);
                await expectSound(stage);
                // New text leaves nothing behind: every call answered, every row settled and told, nothing due.
                await stage.say("hello");
                await stage.untilIdle();
                const rows = await expectTruth(stage);
                expect(rows.filter(({ state }) => ["pending", "approved", "executing"].includes(state))).toEqual([]);
                const { open } = await expectSound(stage);
                expect(open).toEqual([]);
                expect(await stage.store.dueApprovals()).toEqual([]);
                expect(await stage.store.openTurns()).toEqual([]);
              } finally {
                await stage.close();
              }
            },
          ),
          {
            numRuns: runs,
            examples: [
              [twoMessagesAtOnce, "opaque", false],
              [agentLeftBehind, "opaque", true],
            ],
          },
        );
      },
    );
});
