import { gate, type ScriptedGemini } from "adk-stream-protocol/testing";
import { isSettled } from "adk-stream-protocol/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Moment } from "../fixtures/mortal-store.ts";
import { patience } from "../fixtures/nodes.ts";
import { expectSound } from "../fixtures/sound.ts";
import { expectTruth, openStage, type Stage, type StageOptions, startStageGemini } from "../fixtures/stage.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import { userMessage } from "../fixtures/world.ts";

/**
 * A story that runs once for each write to the store. The process dies there (before the write, or after it but before
 * anything was sent), another process starts, and the user finishes the story.
 */
interface Story {
  tell: (stage: Stage) => Promise<unknown>;
  options?: Omit<StageOptions, "gemini">;
  /** What the user says again if the process died before the question. */
  again?: string;
  /** The model may say nothing about the outcome. */
  silent?: true;
}

const stories: Record<string, Story> = {
  "a yes in the chat": {
    tell: async (stage) => {
      await stage.say("pay");
      await stage.answer((await stage.pending()).map(({ id }) => ({ id, approved: true })));
    },
  },
  "a yes outside the chat, to a tool that honours its key": {
    options: { effect: "idempotent" },
    tell: async (stage) => {
      await stage.say("pay");
      await stage.decide((await stage.pending())[0]!.id, true);
      await stage.untilIdle();
    },
  },
  "a yes to a tool that can be asked what happened": {
    options: { effect: "queryable" },
    tell: async (stage) => {
      await stage.say("pay");
      await stage.answer((await stage.pending()).map(({ id }) => ({ id, approved: true })));
    },
  },
  "a no": {
    tell: async (stage) => {
      await stage.say("pay");
      await stage.answer((await stage.pending()).map(({ id }) => ({ id, approved: false })));
    },
  },
  "two payments, a yes and a no, one by one": {
    tell: async (stage) => {
      await stage.say("two payments");
      const [first, second] = await stage.pending();
      await stage.decide(first!.id, true);
      await stage.untilIdle();
      await stage.answer([{ id: second!.id, approved: false }]);
    },
  },
  "a free call and a gated one in one step": {
    tell: async (stage) => {
      await stage.say("mixed");
      await stage.answer((await stage.pending()).map(({ id }) => ({ id, approved: true })));
    },
  },
  "a second payment in the continuation": {
    again: "chain",
    options: { effect: "idempotent" },
    tell: async (stage) => {
      await stage.say("chain");
      await stage.decide((await stage.pending())[0]!.id, true);
      await stage.untilIdle();
      await stage.answer((await stage.pending()).map(({ id }) => ({ id, approved: true })));
    },
  },
  "new text while a question is open": {
    tell: async (stage) => {
      await stage.say("pay");
      await stage.say("hello");
    },
  },
  "new text while the tool runs, and its late outcome": {
    silent: true,
    tell: async (stage) => {
      await stage.say("pay");
      const slow = gate();
      stage.setPace(slow.opened);
      const running = stage.answer((await stage.pending()).map(({ id }) => ({ id, approved: true })));
      await executing(stage, running);
      await stage.say("hello");
      slow.open();
      await running;
      await stage.untilIdle();
    },
  },
  "a stop while the tool runs": {
    silent: true,
    tell: async (stage) => {
      await stage.say("pay");
      const slow = gate();
      stage.setPace(slow.opened);
      const running = stage.answer((await stage.pending()).map(({ id }) => ({ id, approved: true })));
      await executing(stage, running);
      await stage.stop();
      slow.open();
      await running;
      await stage.untilIdle();
    },
  },
  "a regenerated reply": {
    tell: async (stage) => {
      await stage.say("pay");
      await stage.submit({ type: "regenerate" });
      await stage.decide((await stage.pending())[0]!.id, true);
      await stage.untilIdle();
    },
  },
  "a reply that is made again after its payment": {
    silent: true,
    tell: async (stage) => {
      await stage.say("pay");
      await stage.answer((await stage.pending()).map(({ id }) => ({ id, approved: true })));
      await stage.submit({ type: "regenerate" });
    },
  },
  "a message that is edited after its payment": {
    silent: true,
    tell: async (stage) => {
      const message = userMessage("pay", "u-1");
      await stage.submit({ type: "message", message });
      await stage.answer((await stage.pending()).map(({ id }) => ({ id, approved: true })));
      await stage.submit({ type: "message", message: userMessage("hello", "u-1") });
    },
  },
  "a message that is edited while its payment runs": {
    silent: true,
    options: { effect: "idempotent" },
    tell: async (stage) => {
      const slow = gate();
      await stage.submit({ type: "message", message: userMessage("pay", "u-1") });
      stage.setPace(slow.opened);
      const running = stage.answer((await stage.pending()).map(({ id }) => ({ id, approved: true })));
      await executing(stage, running);
      await stage.submit({ type: "message", message: userMessage("hello", "u-1") });
      slow.open();
      await running;
      await stage.untilIdle();
    },
  },
  "an agent run as a tool, gated itself": {
    again: "ask the clerk to pay",
    options: { clerk: true, effect: "idempotent", confirmClerk: true },
    tell: async (stage) => {
      await stage.say("ask the clerk to pay");
      await stage.answer((await stage.pending()).map(({ id }) => ({ id, approved: true })));
      await stage.decide((await stage.pending())[0]!.id, true);
      await stage.untilIdle();
    },
  },
  "an agent run as a tool, abandoned between two payments": {
    options: { clerk: true, effect: "idempotent" },
    again: "ask the clerk to pay",
    tell: async (stage) => {
      await stage.say("chain (ask the clerk)");
      await stage.decide((await stage.pending())[0]!.id, true);
      await stage.untilIdle();
      await stage.say("hello");
    },
  },
  "a payment inside an agent run as a tool": {
    again: "ask the clerk to pay",
    options: { clerk: true, effect: "idempotent" },
    tell: async (stage) => {
      await stage.say("ask the clerk to pay");
      await stage.decide((await stage.pending())[0]!.id, true);
      await stage.untilIdle();
    },
  },
};

/** Waits until the tool runs or the reply is over. Throws if the process dies first. */
async function executing(stage: Stage, reply: Promise<unknown>): Promise<void> {
  // It may fail while the database is being asked.
  reply.catch(() => undefined);
  const isRunning = async () => (await stage.rows()).some(({ state }) => state === "executing");
  while (!(await isRunning())) {
    const nextTick = new Promise<boolean>((resolve) => setImmediate(() => resolve(false)));
    if (await Promise.race([reply.then(() => true), nextTick])) return;
  }
}

const writes: ReadonlySet<string> = new Set([
  "openChat",
  "openSession",
  "appendEvent",
  "append",
  "createApproval",
  "move",
  "markTold",
  "withdrawEvents",
]);

/** Dying before a write is the same as dying after the previous one, except for moves, where a tool may run between. */
function isDistinct({ when, operation }: Moment): boolean {
  return writes.has(operation) && (when === "after" || operation === "move");
}

let gemini: ScriptedGemini;
beforeAll(async () => {
  gemini = await startStageGemini();
});
afterAll(() => gemini.close());

/** Dies at the nth write and finishes the story in another process. Returns false if the story has fewer writes. */
async function dieAt(nth: number, story: Story, options: Omit<StageOptions, "gemini">): Promise<boolean> {
  const stage = await openStage({ gemini, ...options, ...story.options });
  let count = 0;
  let died: Moment | undefined;
  stage.dieAt((moment) => {
    if (!isDistinct(moment)) return false;
    count += 1;
    if (count === nth) died = moment;
    return count === nth;
  });
  await story.tell(stage).catch((error: unknown) => {
    if (!died) throw error;
  });
  if (!died) {
    await stage.close();
    return false;
  }
  const before = await stage.rows();
  try {
    stage.setPace(undefined);
    await stage.crash();
    await stage.untilIdle();
    for (const row of before) {
      const after = (await stage.rows()).find(({ id }) => id === row.id);
      expect(after, "the same approval").toMatchObject({ digest: row.digest, expiresAt: row.expiresAt });
      if (row.decidedAt !== undefined) expect(after!.decidedAt, "the decision").toBe(row.decidedAt);
    }
    await expectSound(stage);
    if ((await stage.rows()).length === 0) await stage.say(story.again ?? "pay");
    for (let [question] = await stage.pending(); question; [question] = await stage.pending()) {
      await stage.decide(question.id, true);
      await stage.untilIdle();
    }
    const rows = await expectTruth(stage);
    expect(
      (await stage.rows()).filter(({ state }) => !isSettled(state)),
      "rows that are not settled",
    ).toEqual([]);
    await expectSound(stage);
    // Nothing is lost or repeated, in the model's text in the chat and in the model's history (I10).
    const words = (await stage.messages())
      .flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? part.text : [])))
      .join("\n");
    await stage.say("hello");
    const { open } = await expectSound(stage);
    expect(open, "calls without a response").toEqual([]);
    const sentToModel = JSON.stringify(
      stage.gemini.requests.at(-1)!.contents.filter(({ role }) => role !== "model"),
    ).replaceAll("\\", "");
    for (const { state, input } of story.options?.clerk ? [] : rows) {
      if (state !== "succeeded") continue;
      const { amount, recipient } = JSON.parse(input) as { amount: number; recipient: string };
      const times = (text: string) => text.split(`{"paid":${amount}}`).length - 1;
      if (recipient !== "First") expect(times(words), words).toBeOneOf(story.silent ? [0, 1] : [1]);
      expect(times(sentToModel), sentToModel).toBe(1);
    }
    expect((await stage.store.dueApprovals()).map(({ id, state }) => ({ id, state }))).toEqual([]);
  } catch (error) {
    const at = `${died.when} ${died.operation} ${JSON.stringify(died.args).slice(0, 300)}`;
    throw new Error(`Death number ${nth}, ${at}: ${(error as Error).message}`, { cause: error });
  } finally {
    await stage.close();
  }
  return true;
}

describe("a process that dies at any write (P1–P12)", () => {
  for (const [index, [name, story]] of Object.entries(stories).entries()) {
    const { name: store, options } = storeKinds.at(index === 1 ? -1 : 0)!;
    it(`${name}, on ${store}`, { timeout: 60_000 * patience }, async () => {
      let deaths = 0;
      while (await dieAt(deaths + 1, story, options())) deaths += 1;
      expect(deaths).toBeGreaterThan(15);
    });
  }
});
