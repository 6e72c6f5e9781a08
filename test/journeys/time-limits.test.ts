import { FunctionTool } from "@google/adk";
import type { ToolPolicy } from "adk-stream-protocol";
import { call, gate, text } from "adk-stream-protocol/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openLiveStage } from "../fixtures/live-stage.ts";
import { expectSound } from "../fixtures/sound.ts";

const rules = [{ when: /start/, say: [call("work", { task: "a" })] }, { say: [text("All right.")] }];

interface Work {
  /** What the tool does, by attempt. */
  does: (signal: AbortSignal | undefined, attempt: number) => Promise<unknown>;
  policy: ToolPolicy;
  isGated?: boolean;
  live?: boolean;
}

async function run({ does, policy, isGated = true, live = false }: Work) {
  let attempts = 0;
  const keys = new Set<string>();
  const work = new FunctionTool({
    name: "work",
    description: "Works.",
    parameters: z.object({ task: z.string() }),
    requireConfirmation: isGated,
    execute: (_, context) => {
      attempts += 1;
      keys.add(context?.functionCallId ?? "");
      return does(context?.abortSignal, attempts);
    },
  });
  const spoken = [
    { when: ({ responses }: { responses: readonly unknown[] }) => responses.length > 0, say: [text("Done.")] },
  ];
  const stage = await openLiveStage({
    rules: [...spoken, ...rules],
    tools: [work],
    bridge: { tools: { work: { timeoutMs: 5, ...policy } } },
  });
  await stage.say("start", { live });
  if (isGated) await stage.answer([{ id: (await stage.pending())[0]!.id, approved: true }], { live });
  await stage.untilIdle();
  const row = (await stage.rows())[0]!;
  return { stage, row, attempts };
}

/** Never ends, and does not look at its signal. */
const hang = () => new Promise<never>(() => undefined);
/** Ends with an error when its signal is aborted, as `fetch` does. */
const heed = (signal: AbortSignal | undefined) =>
  new Promise<never>((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason as Error)));

for (const live of [false, true])
  for (const isGated of [true, false]) {
    const how = { live, isGated };
    describe(`a ${isGated ? "gated" : "free"} tool with a time limit, ${live ? "live" : "by request"}`, () => {
      it("that ends in time is like any other", async () => {
        const { row, stage } = await run({ ...how, does: async () => ({ ok: 1 }), policy: { timeoutMs: 60_000 } });
        expect(row).toMatchObject({ state: "succeeded", outcome: { ok: 1 } });
        await expectSound(stage);
      });

      it("gets a signal that is aborted, and what it returns then counts", async () => {
        const { row } = await run({
          ...how,
          does: (signal) =>
            new Promise((resolve) => signal?.addEventListener("abort", () => resolve({ partly: "done" }))),
          policy: {},
        });
        expect(row).toMatchObject({ state: "succeeded", outcome: { partly: "done" } });
      });

      it("has failed if it only reads", async () => {
        const { row, attempts, stage } = await run({ ...how, does: heed, policy: { effect: "readonly" } });
        expect(row).toMatchObject({ state: "failed", outcome: { error: expect.stringContaining("took longer than") } });
        expect(attempts).toBe(1);
        await expectSound(stage);
      });

      it("may have had an effect if no one knows what it does", async () => {
        const { row, attempts, stage } = await run({ ...how, does: heed, policy: {} });
        expect(row).toMatchObject({ state: "indeterminate" });
        expect(attempts).toBe(1);
        await expectSound(stage);
      });

      it("is tried once more if repeating changes nothing", async () => {
        const does = (signal: AbortSignal | undefined, attempt: number) =>
          attempt === 1 ? heed(signal) : Promise.resolve({ ok: 2 });
        const { row, attempts } = await run({ ...how, does, policy: { effect: "idempotent" } });
        expect(row).toMatchObject({ state: "succeeded", outcome: { ok: 2 } });
        expect(attempts).toBe(2);
        const again = await run({ ...how, does: heed, policy: { effect: "idempotent" } });
        expect(again).toMatchObject({ attempts: 2, row: { state: "indeterminate" } });
      });

      it("is looked up if that is possible", async () => {
        const found = await run({
          ...how,
          does: heed,
          policy: { effect: "queryable", lookup: async () => ({ found: true }) },
        });
        expect(found.row).toMatchObject({ state: "succeeded", outcome: { found: true } });
        const missing = await run({
          ...how,
          does: heed,
          policy: { effect: "queryable", lookup: async () => undefined },
        });
        expect(missing).toMatchObject({ attempts: 1, row: { state: "indeterminate" } });
      });
    });
  }

describe("a tool that ignores its signal", () => {
  it("does not block the chat", { timeout: 20_000 }, async () => {
    const { stage, row } = await run({ does: hang, policy: {} });
    expect(row).toMatchObject({ state: "indeterminate" });
    await stage.say("hello", { live: false });
  });

  it("and ends after all: its row, its card and the model get the real outcome", { timeout: 20_000 }, async () => {
    const slow = gate();
    const { stage, row } = await run({ does: () => slow.opened.then(() => ({ sent: "at last" })), policy: {} });
    expect(row).toMatchObject({ state: "indeterminate" });
    slow.open();
    await stage.until(async () => (await stage.rows())[0]?.state === "succeeded");
    await stage.untilIdle();
    await stage.until(async () => JSON.stringify(await stage.messages()).includes("at last"));
    await stage.say("hello", { live: false });
    expect(JSON.stringify(stage.gemini.requests.at(-1)?.contents)).toContain("at last");
    await expectSound(stage);
  });
});
