import type { ScriptedGemini } from "adk-stream-protocol/testing";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { patience } from "../fixtures/nodes.ts";
import { type Befalls, type Begin, play } from "../fixtures/play.ts";
import { expectSound } from "../fixtures/sound.ts";
import { expectTruth, openStage, type Stage, startStageGemini } from "../fixtures/stage.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import { userMessage } from "../fixtures/world.ts";

/** What people, clients, the clock and the machine do. Most acts are not awaited, so that they overlap. */
type Act =
  | { do: "say"; words: string; waits: boolean }
  | { do: "answer"; which: number; approved: boolean; outside: boolean; times: number }
  | { do: "answer all"; approved: boolean }
  | { do: "stop" }
  | { do: "regenerate" | "edit"; which: number }
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

/** Single acts, and short scenes that rarely happen by chance, such as an answered question or a crash while a tool runs. */
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
            { do: "regenerate", which: 0 },
            { do: "regenerate", which: 1 },
            { do: "edit", which: 0 },
            { do: "edit", which: 1 },
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
          .map(([asks, yes, ticks, last]): Act[] => [
            { do: "slow tools" },
            { ...asks, waits: true },
            { ...yes, approved: true },
            ticks,
            last,
          ]),
      },
    ),
    { minLength: 3, maxLength: 9 },
  )
  .map((scenes) => scenes.flat());

/** A failure that this test found: after a crash the outcomes of two messages were shown in one of them. */
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

/** A failure that this test found: an agent was abandoned while its tool ran, and the model was not told the outcome. */
const abandonedAgent: Act[] = [
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
        void begin(stage.submit({ type: "regenerate", ...(await messageAt(stage, act.which)) }));
        break;
      case "edit": {
        const { messageId } = await messageAt(stage, act.which);
        if (messageId !== undefined)
          void begin(stage.submit({ type: "message", message: userMessage("hello", messageId) }));
        break;
      }
    }
  };

/** The id of the user's last message, or of an earlier one. */
async function messageAt(stage: Stage, which: number): Promise<{ messageId?: string }> {
  const chat = await stage.store.findChat("local", "chat-1", "root_agent");
  const messages = chat ? await stage.store.messages(chat.id) : [];
  const written = messages.filter(({ message: { role } }) => role === "user");
  const id = written.at(-1 - which)?.message.id;
  return id === undefined ? {} : { messageId: id };
}

/** What the model was sent last is on the page: nothing that was withdrawn is left in its history. */
async function expectOnPage(stage: Stage): Promise<void> {
  const page = (await stage.messages()).flatMap(({ role, parts }) =>
    parts.flatMap((part) => (part.type === "text" ? `${role === "user" ? "user" : "model"}: ${part.text}` : [])),
  );
  // The requests of a clerk come before the last one of the agent that talks to the user.
  const last = stage.gemini.requests.at(-1)!;
  const sent = last.contents.flatMap(({ role, parts = [] }) =>
    parts.flatMap(({ text }) => (text && !text.startsWith("[context, not from the user]") ? `${role}: ${text}` : [])),
  );
  for (const line of sent) {
    const place = page.indexOf(line);
    expect(place, `${line} is not on the page: ${page.join(" | ")}`).toBeGreaterThanOrEqual(0);
    page.splice(place, 1);
  }
}

/** The number of stories per store. To run more: `INTERLEAVINGS=1000 npx vitest run test/journeys/interleavings`. */
const runs = Number(process.env["INTERLEAVINGS"] ?? 30);

let gemini: ScriptedGemini;
beforeAll(async () => {
  gemini = await startStageGemini();
});
afterAll(() => gemini.close());

describe("random acts in random order", () => {
  for (const { name, options } of storeKinds)
    it(
      `leave payments that match the ledger, and a valid chat, on ${name}`,
      { timeout: (120_000 + runs * 1000) * patience },
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
                // After new text nothing is left open: every call has a response, every row is settled and told, nothing is due.
                await stage.say("hello");
                await stage.untilIdle();
                const rows = await expectTruth(stage);
                expect(rows.filter(({ state }) => ["pending", "approved", "executing"].includes(state))).toEqual([]);
                const { open } = await expectSound(stage);
                expect(open).toEqual([]);
                expect(await stage.store.dueApprovals()).toEqual([]);
                expect(await stage.store.openTurns()).toEqual([]);
                await expectOnPage(stage);
              } finally {
                await stage.close();
              }
            },
          ),
          {
            numRuns: runs,
            examples: [
              [twoMessagesAtOnce, "opaque", false],
              [abandonedAgent, "opaque", true],
            ],
          },
        );
      },
    );
});
