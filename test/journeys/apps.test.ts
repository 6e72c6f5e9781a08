/** Two bridges with different agents on one store, as X12 of the attacks: neither sees or touches what the other has. */
import { LongRunningFunctionTool } from "@google/adk";
import { idempotencyKey } from "adk-stream-protocol";
import { call, type Rule, text } from "adk-stream-protocol/testing";
import type { Store } from "adk-stream-protocol/stores";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { postgresStore } from "adk-stream-protocol/stores/postgres";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { expectPaid, liveRules, openLiveStage, type LiveStageOptions } from "../fixtures/live-stage.ts";
import { chat, owner } from "../fixtures/mortal-process.ts";
import { type TestDatabase, testDatabase } from "../fixtures/postgres.ts";
import { type StoreKind, storeKinds } from "../fixtures/store-kinds.ts";

const notFound = { code: "not_found" };

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

const postgres: StoreKind = {
  name: "PostgreSQL",
  options: () => ({ store: (now) => postgresStore({ url: database.url, now }) }),
};

describe.each([...storeKinds, postgres])("two apps on one store, $name", (kind) => {
  const openShared = () => {
    const clock = { now: 1_800_000_000_000 };
    const open = kind.options().store ?? ((now: () => number) => memoryStore({ now }));
    const store = open(() => clock.now);
    onTestFinished(async () => {
      await store.close();
      await database.empty();
    });
    // Each stage closes its store at the end, and the other one still needs it.
    return { clock, store: { ...store, close: async () => undefined } };
  };
  const openApp = (store: Store, appName: string, options: LiveStageOptions = {}) =>
    openLiveStage({ ...options, store: () => store, bridge: { ...options.bridge, appName } });

  describe.each([{ live: false }, { live: true }])("live: $live", ({ live }) => {
    it("an app leaves the calls and turns of another one alone, which goes on with them after a crash", async () => {
      const { store, clock } = openShared();
      const shop = await openApp(store, "shop");
      const bank = await openApp(store, "bank");
      await bank.say("pay", { live });
      const [asked] = await bank.pending();
      bank.dieAt(({ when, operation, args }) => {
        const [, change] = args as [string, { event?: string }?];
        return when === "after" && operation === "move" && change?.event === "approve";
      });
      await expect(bank.decide(asked?.id ?? "", true)).rejects.toThrow("died");
      const before = await everythingOf(store, "bank");
      expect(before.rows).toMatchObject([{ state: "approved", appName: "bank" }]);

      await shop.sweep();
      await shop.restart();
      await shop.say("pay", { live });
      await shop.answer([{ id: (await shop.pending())[0]?.id ?? "", approved: false }], { live });
      await shop.untilIdle();
      clock.now += 5000;
      await shop.sweep();
      expect(await everythingOf(store, "bank")).toEqual(before);
      expect([shop.payments, shop.loggedErrors]).toEqual([[], []]);

      await bank.startAgain();
      await bank.untilIdle();
      expect(bank.payments).toHaveLength(1);
      expect(await bank.rows()).toMatchObject([{ state: "succeeded" }]);
      expect(await shop.rows()).toMatchObject([{ state: "denied" }]);
      await expectPaid(bank);
    });

    it("an app does not end the turn that a crash of another one has left open", async () => {
      const { store } = openShared();
      const bank = await openApp(store, "bank");
      bank.dieAt(({ when, operation }) => when === "before" && operation === "appendEvent");
      await expect(bank.say("hello", { live })).rejects.toThrow("died");
      const before = await everythingOf(store, "bank");
      expect(before.turns).toHaveLength(1);
      const shop = await openApp(store, "shop");
      await shop.say("hello", { live });
      await shop.sweep();
      expect(await everythingOf(store, "bank")).toEqual(before);
      await bank.startAgain();
      await bank.untilIdle();
      expect((await everythingOf(store, "bank")).turns).toEqual([]);
    });

    it("questions expire, and old chats go, by the clock of their own app only", async () => {
      const { store, clock } = openShared();
      const shop = await openApp(store, "shop", { bridge: { retention: { chatsMs: 1, chunksMs: 0 } } });
      const bank = await openApp(store, "bank");
      await bank.say("hello", { live });
      await bank.say("pay", { live });
      const before = await everythingOf(store, "bank");
      clock.now += 1_000_000;
      await shop.sweep();
      expect(await everythingOf(store, "bank")).toEqual(before);
      await bank.sweep();
      await bank.until(async () =>
        (await bank.rows()).every(({ state, shown, told }) => state === "expired" && (shown ?? told)),
      );
      await bank.untilIdle();
      clock.now += 1_000_000;
      await shop.sweep();
      expect((await bank.messages()).length).toBeGreaterThan(0);
    });
  });

  it("nothing of another app can be seen, decided, reported, resolved, copied or deleted", async () => {
    const { store } = openShared();
    const shop = await openApp(store, "shop");
    const keys: string[] = [];
    const bank = await openApp(store, "bank", {
      ...{ tools: [deployTool(keys)], rules: [deployRule, ...liveRules] },
      bridge: { files: { inlineBytes: 1000 } },
    });
    const live = false;
    await bank.say("pay", { live });
    const [asked] = await bank.pending();
    await shop.say("hello", { live });
    await bank.bridge.chats.rename(owner, chat, "Secret");
    const data = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.alloc(3000)]).toString("base64");
    const file = { type: "file", mediaType: "image/png", url: `data:image/png;base64,${data}` } as const;
    const message = { id: "with file", role: "user" as const, parts: [file] };
    await bank.bridge.submit(owner, "chat-2", { type: "message", message });
    const [stored] = await bank.bridge.messages(owner, "chat-2");
    const fileId = /[0-9a-f]{32}/.exec(JSON.stringify(stored))?.[0] ?? "";
    await bank.bridge.submit(owner, "chat-3", { type: "message", message: said("deploy") });
    await bank.until(async () => keys.length > 0 && (await store.openTurns()).length === 0);
    const before = await everythingOf(store, "bank");

    const id = asked?.id ?? "";
    const { bridge } = shop;
    expect((await bridge.approvals(owner, {})).approvals).toEqual([]);
    expect((await bridge.approvals(owner, { state: "pending" })).approvals).toEqual([]);
    expect(await bridge.approval(owner, id)).toBeUndefined();
    expect(await bridge.chatOf(owner, id)).toBeUndefined();
    await expect(bridge.decide(owner, { approvalId: id, approved: true })).rejects.toMatchObject(notFound);
    await expect(bridge.resolve(owner, { approvalId: id, happened: true })).rejects.toMatchObject(notFound);
    for (const answerId of [id, asked?.toolCallId ?? ""])
      for (const name of [chat, undefined]) {
        const answers = [{ id: answerId, approved: true }];
        await expect(bridge.submit(owner, name, { type: "answers", answers })).rejects.toMatchObject(notFound);
      }
    await expect(bridge.settle(owner, keys[0] ?? "", { result: 1 })).rejects.toMatchObject(notFound);
    expect(fileId).not.toBe("");
    expect(await bank.bridge.file(owner, fileId)).toBeDefined();
    expect(await bridge.file(owner, fileId)).toBeUndefined();
    expect((await bridge.chats.list(owner)).chats.map(({ title }) => title)).toEqual(["hello"]);
    expect(JSON.stringify(await bridge.messages(owner, chat))).not.toContain("pay");
    for (const name of ["chat-2", "chat-3"]) {
      await expect(bridge.messages(owner, name)).rejects.toMatchObject(notFound);
      await expect(bridge.chats.export(owner, name)).rejects.toMatchObject(notFound);
      await expect(bridge.chats.delete(owner, name)).rejects.toMatchObject(notFound);
      await expect(bridge.chats.rename(owner, name, "Mine")).rejects.toMatchObject(notFound);
      await expect(bridge.stop(owner, name)).rejects.toMatchObject(notFound);
      expect(await bridge.resume(owner, name)).toBeUndefined();
      expect(await bridge.position(owner, name)).toEqual({ sequence: 0, running: false });
    }
    await bridge.chats.delete(owner, chat);
    expect(await everythingOf(store, "bank")).toEqual(before);
    expect((await bank.bridge.chats.list(owner)).chats.map(({ title }) => title)).toContain("Secret");

    await bank.answer([{ id, approved: true }], { live });
    expect([bank.payments.length, shop.payments.length]).toEqual([1, 0]);
    expect(await bank.bridge.settle(owner, keys[0] ?? "", { result: 1 })).toMatchObject({ state: "succeeded" });
    await bank.until(async () => (await store.openTurns()).length === 0);
  });
});

const said = (words: string) => ({ id: words, role: "user" as const, parts: [{ type: "text" as const, text: words }] });

const deployRule: Rule = { when: /^deploy$/, say: ({ fresh }) => (fresh ? [call("deploy", {})] : [text("Done.")]) };

function deployTool(keys: string[]): LongRunningFunctionTool {
  return new LongRunningFunctionTool({
    name: "deploy",
    description: "Deploys.",
    parameters: z.object({}),
    execute: (_, context) => {
      if (context) keys.push(idempotencyKey(context));
      return undefined;
    },
  });
}

/** What a store has of one app. */
async function everythingOf(store: Store, appName: string) {
  const chats = await store.listChats({ owner, appName });
  return {
    chats,
    turns: await store.openTurns({ appName }),
    rows: await store.listApprovals({ appName }),
    logs: await Promise.all(chats.map(({ id }) => store.read(id))),
    events: await Promise.all(chats.map(({ id }) => store.events(id))),
    audits: await Promise.all(chats.map(({ id }) => store.audit(id))),
  };
}
