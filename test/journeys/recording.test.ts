import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gate } from "adk-stream-protocol/testing";
import { sqliteStore } from "adk-stream-protocol/stores/sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { openLiveStage } from "../fixtures/live-stage.ts";
import { expectSound } from "../fixtures/sound.ts";

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

describe("X3: another program locks the database as a tool returns", () => {
  for (const live of [false, true])
    for (const effect of ["opaque", "idempotent"] as const)
      it(`the outcome is recorded when the lock is gone, and the tool runs once: ${effect}, ${live ? "live" : "by request"}`, async () => {
        const folder = mkdtempSync(join(tmpdir(), "bridge-lock-"));
        folders.push(folder);
        const path = join(folder, "bridge.db");
        const stage = await openLiveStage({
          store: (now) => sqliteStore({ path, now, busyMs: 20 }),
          bridge: { tools: { process_payment: { effect } } },
        });
        await stage.say("pay", { live });
        const slow = gate();
        stage.setPace(slow.opened);
        const answered = stage.answer([{ id: (await stage.pending())[0]?.id ?? "", approved: true }], { live });
        await stage.until(() => stage.payments.length === 1);

        const other = new DatabaseSync(path);
        other.exec("BEGIN IMMEDIATE");
        slow.open();
        // The write fails again and again. The event loop goes on meanwhile, and other chats can be read.
        const isTriedAgain = () => stage.loggedErrors.some((line) => line.includes("it is tried again"));
        await stage.until(isTriedAgain);
        expect(await stage.rows()).toMatchObject([{ state: "executing" }]);
        await stage.bridge.approvals("somebody else", {});
        other.exec("ROLLBACK");
        other.close();

        await stage.until(async () => (await stage.rows())[0]?.state === "succeeded");
        await answered.catch(() => undefined);
        await stage.untilIdle();
        expect(stage.payments).toHaveLength(1);
        await stage.say("hello", { live });
        expect((await stage.rows())[0]).toMatchObject({ state: "succeeded", told: true });
        await expectSound(stage);
      });
});
