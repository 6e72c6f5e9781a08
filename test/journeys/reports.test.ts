import type { StateConflict } from "adk-stream-protocol";
import { describe, expect, it } from "vitest";
import { type DeployOptions, expectKnown, expectToldOnce, openDeployStage } from "../fixtures/deployments.ts";
import { owner } from "../fixtures/mortal-process.ts";
import type { Moment } from "../fixtures/mortal-store.ts";
import { nodeCount, patience } from "../fixtures/nodes.ts";
import { expectSound } from "../fixtures/sound.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";

const hour = 60 * 60_000;
const result = { result: { url: "shop.example" } };
const words = "shop.example";

const modes = [
  { mode: "by request", live: false },
  { mode: "live", live: true },
];
const kinds: { kind: string; how: Pick<DeployOptions, "isGated" | "interim"> }[] = [
  { kind: "a gated tool", how: {} },
  { kind: "a gated tool that says something", how: { interim: { job: 7 } } },
  { kind: "a free tool", how: { isGated: false } },
  { kind: "a free tool that says something", how: { isGated: false, interim: { job: 7 } } },
];

for (const { mode, live } of modes) {
  for (const { kind, how } of kinds)
    for (const { name, options } of storeKinds) {
      describe(`a report on ${kind}, ${mode}, on ${name}`, () => {
        const open = (more: Partial<DeployOptions> = {}) => openDeployStage({ live, ...how, ...options(), ...more });

        for (const effect of ["opaque", "idempotent"] as const)
          it(`X1: is taken after a restart, and the call does not begin again: ${effect}`, async () => {
            const stage = await open({ bridge: { tools: { deploy: { effect } } } });
            await stage.deploy();
            expect(await stage.row()).toMatchObject({ state: "waiting", ...(how.interim && { interim: how.interim }) });
            await stage.restart();
            await stage.sweep();
            await stage.crash();
            await stage.sweep();
            await stage.untilIdle();
            expect(await stage.row()).toMatchObject({ state: "waiting" });
            expect(await stage.settle(result)).toMatchObject({ state: "succeeded" });
            expect(stage.begun).toHaveLength(1);
            await expectKnown(stage, words);
            await expectSound(stage);
          });

        it("X2: is taken long after the time to answer a question, and the call does not begin again", async () => {
          const stage = await open({ bridge: { tools: { deploy: { effect: "idempotent" } } } });
          await stage.deploy();
          for (let round = 0; round < 5; round++) {
            stage.clock.now += 4 * hour;
            await stage.sweep();
          }
          expect(await stage.row()).toMatchObject({ state: "waiting" });
          expect(await stage.settle(result)).toMatchObject({ state: "succeeded" });
          expect(stage.begun).toHaveLength(1);
          await expectKnown(stage, words);
        });

        it("is taken after the user has written on", async () => {
          const stage = await open();
          await stage.deploy();
          await stage.talk("hello");
          expect(await stage.row()).toMatchObject({ state: "waiting" });
          await stage.settle(result);
          await expectKnown(stage, words);
          await expectSound(stage);
        });

        it("is taken after a stop", async () => {
          const stage = await open();
          await stage.deploy();
          await stage.stop();
          expect(await stage.row()).toMatchObject({ state: "waiting" });
          await stage.settle(result);
          await expectKnown(stage, words);
        });

        it("may say that the call failed", async () => {
          const stage = await open();
          await stage.deploy();
          expect(await stage.settle({ error: "no space left on shop" })).toMatchObject({ state: "failed" });
          await expectKnown(stage, "no space left on shop");
          await expectSound(stage);
        });

        it("is taken once; the same one again changes nothing, another is refused with the state that won", async () => {
          const stage = await open();
          await stage.deploy();
          const [first, second] = await Promise.allSettled([stage.settle(result), stage.settle({ error: "no" })]);
          // At several nodes the second one may be first.
          if (nodeCount > 1 && second.status === "fulfilled") {
            expect(second.value).toMatchObject({ state: "failed" });
            expect(first).toMatchObject({ reason: { code: "conflict", approval: { state: "failed" } } });
            return;
          }
          expect(first).toMatchObject({ status: "fulfilled", value: { state: "succeeded" } });
          expect(second).toMatchObject({ reason: { code: "conflict", approval: { state: "succeeded" } } });
          expect(await stage.settle(result)).toMatchObject({ state: "succeeded" });
          await expectKnown(stage, words);
        });

        it("that comes too late is refused, and what happened is not known", async () => {
          const stage = await open({ bridge: { tools: { deploy: { reportMs: 2 * hour } } } });
          await stage.deploy();
          stage.clock.now += 2 * hour;
          await expect(stage.settle(result)).rejects.toMatchObject({
            code: "conflict",
            approval: { state: "indeterminate" },
          });
          await stage.untilIdle();
          expect(await stage.row()).toMatchObject({ state: "indeterminate" });
          await stage.talk("hello");
          await expectToldOnce(stage, "no result was reported in time");
          expect(await stage.inHistory(words)).toEqual({ responses: 0, notes: 0 });
          await expectSound(stage);
        });
      });
    }

  it(`a stream never shows an earlier state of a call again, ${mode}`, async () => {
    const stage = await openDeployStage({ live, bridge: { tools: { deploy: { reportMs: hour } } } });
    await stage.deploy();
    stage.clock.now += hour;
    await stage.sweep();
    await stage.untilIdle();
    const { id: approvalId, chat } = await stage.row();
    await stage.bridge.resolve(owner, { approvalId, happened: true });
    await stage.untilIdle();
    const shown = (await stage.store.read(chat)).flatMap((entry) =>
      entry.kind === "chunk" && entry.chunk.type === "data-approval"
        ? (entry.chunk.data as { state: string }).state
        : [],
    );
    expect(shown).toEqual(["pending", "approved", "executing", "waiting", "indeterminate", "succeeded"]);
  });

  describe(`a call whose outcome is not known, ${mode}`, () => {
    const lost = async (options: Partial<DeployOptions> = {}) => {
      const stage = await openDeployStage({ live, bridge: { tools: { deploy: { reportMs: hour } } }, ...options });
      await stage.deploy();
      stage.clock.now += hour;
      await stage.sweep();
      await stage.untilIdle();
      const { id } = await stage.row();
      expect(await stage.row()).toMatchObject({ state: "indeterminate" });
      return { stage, id };
    };

    for (const told of [false, true])
      for (const { name, options } of storeKinds)
        it(`is resolved by a person once; the model ${told ? "is told again" : "is told"}, on ${name}`, async () => {
          const { stage, id: approvalId } = await lost(options());
          if (told) await stage.talk("hello");
          const resolution = { approvalId, happened: true, outcome: { url: words }, reason: "I looked." };
          expect(await stage.bridge.resolve(owner, resolution)).toMatchObject({
            ...{ state: "succeeded", resolvedBy: owner, output: { url: words }, reason: "I looked." },
          });
          await expect(stage.bridge.resolve(owner, { approvalId, happened: false })).rejects.toMatchObject({
            ...{ code: "conflict", approval: { state: "succeeded" } },
          });
          await expectKnown(stage, words);
          const audit = await stage.store.audit((await stage.row()).chat);
          expect(audit.at(-1)).toMatchObject({ event: "succeed", by: owner });
          await expectSound(stage);
        });

    it("may not have happened", async () => {
      const { stage, id: approvalId } = await lost();
      const view = await stage.bridge.resolve(owner, { approvalId, happened: false, reason: "The site is down." });
      expect(view).toMatchObject({ state: "failed", resolvedBy: owner });
      await expectKnown(stage, "The site is down.");
    });

    it("can be resolved also if no one was asked about it, by the id that a late report is told", async () => {
      const { stage } = await lost({ isGated: false });
      const refusal = await stage.settle(result).catch((error: unknown) => error);
      const { approval } = refusal as StateConflict;
      expect(approval).toMatchObject({ state: "indeterminate" });
      const resolution = { approvalId: approval.id, happened: true, outcome: { url: words } };
      expect(await stage.bridge.resolve(owner, resolution)).toMatchObject({ state: "succeeded", resolvedBy: owner });
      await expectKnown(stage, words);
      await expectSound(stage);
    });

    it("can be resolved by its owner only, and only if it is not known", async () => {
      const { stage, id: approvalId } = await lost();
      const resolve = (by: string) => stage.bridge.resolve(by, { approvalId, happened: true });
      await expect(resolve("mallory")).rejects.toMatchObject({ code: "not_found" });
      await resolve(owner);
      await expect(resolve(owner)).rejects.toMatchObject({ code: "conflict" });
    });
  });

  describe(`a process that dies at any write while a person resolves a call, ${mode}`, () => {
    it("the resolution is neither lost nor told twice", { timeout: 60_000 * patience }, async () => {
      for (let nth = 1, died = true; died; nth++) {
        const stage = await openDeployStage({ live, bridge: { tools: { deploy: { reportMs: hour } } } });
        await stage.deploy();
        stage.clock.now += hour;
        await stage.sweep();
        await stage.untilIdle();
        const { id: approvalId } = await stage.row();
        let count = 0;
        died = false;
        stage.dieAt(({ when, operation }) => {
          if (!["append", "appendEvent", "move", "markTold"].includes(operation) || when === "before") return false;
          count += 1;
          if (count === nth) died = true;
          return count === nth;
        });
        const resolve = () => stage.alive(stage.bridge.resolve(owner, { approvalId, happened: true, outcome: words }));
        await resolve()
          .then(() => stage.untilIdle())
          .catch(() => undefined);
        const check = async () => {
          await stage.untilIdle();
          expect(await stage.row()).toMatchObject({ state: "succeeded", resolvedBy: owner });
          await expectKnown(stage, words);
          await expectSound(stage);
        };
        // The process may also die in what follows the resolution.
        const diedBefore = died;
        if (diedBefore) await stage.crash();
        await check().catch(async (error: unknown) => {
          if (!died || diedBefore) throw error;
          await stage.crash();
          await check();
        });
        if (!died) expect(nth).toBeGreaterThan(3);
        await stage.close();
      }
    });
  });

  for (const { kind, how } of kinds)
    describe(`a process that dies at any write while ${kind} waits for its report, ${mode}`, () => {
      const writes = new Set(["appendEvent", "append", "createApproval", "move", "markTold"]);

      /** Dies at the nth write. Returns false if the story has fewer writes. */
      async function dieAt(nth: number, options: Partial<DeployOptions>): Promise<boolean> {
        const stage = await openDeployStage({ live, ...how, ...options });
        let count = 0;
        let died: Moment | undefined;
        stage.dieAt((moment) => {
          if (!writes.has(moment.operation) || (moment.when === "before" && moment.operation !== "move")) return false;
          count += 1;
          if (count === nth) died = moment;
          return count === nth;
        });
        let isTaken = false;
        const tell = async () => {
          await stage.deploy();
          await stage.settle(result);
          isTaken = true;
          await stage.untilIdle();
        };
        await tell().catch((error: unknown) => {
          if (!died) throw error;
        });
        if (!died) {
          await stage.close();
          return false;
        }
        try {
          await stage.crash();
          await stage.sweep();
          await stage.untilIdle();
          if ((await stage.rows()).length === 0) await stage.talk("deploy");
          for (const { id } of await stage.pending()) await stage.decide(id, true);
          await stage.untilIdle();
          // Whatever has begun can be reported, also if the process died before it could record that.
          const isUnknown = (await stage.row()).state === "indeterminate";
          expect(isTaken && isUnknown).toBe(false);
          expect(stage.begun.length).toBeLessThan(2);
          expect(isUnknown || stage.begun.length === 1).toBe(true);
          if (stage.begun.length === 1) {
            expect(await stage.settle(result)).toMatchObject({ state: "succeeded" });
            await expectKnown(stage, words);
          }
          await expectSound(stage);
        } catch (error) {
          const at = `${died.when} ${died.operation} ${JSON.stringify(died.args).slice(0, 300)}`;
          throw new Error(`Death number ${nth}, ${at}: ${(error as Error).message}`, { cause: error });
        } finally {
          await stage.close();
        }
        return true;
      }

      for (const { name, options } of storeKinds)
        it(
          `the report is neither lost nor told twice, and the call begins once, on ${name}`,
          { timeout: 60_000 * patience },
          async () => {
            let deaths = 0;
            while (await dieAt(deaths + 1, options())) deaths += 1;
            expect(deaths).toBeGreaterThan(8);
          },
        );
    });
}
