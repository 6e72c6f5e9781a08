/** What every store must do with the rows of several apps: each app finds its own, and only those. */
import { afterEach, describe, expect, test } from "vitest";
import { appStore } from "../../src/stores/app-store.ts";
import type { NewApproval, NewLogEntry, Session, Store } from "../../src/stores/index.ts";
import { newApproval, type OpenStore } from "./store.ts";

const start = 1_700_000_000_000;
const turnOf = (turn: string, isOver = true): NewLogEntry[] => [
  { turn, kind: "begin", reply: `reply of ${turn}` },
  { turn, kind: "chunk", chunk: { type: "text-start", id: "t" } },
  ...(isOver ? [{ turn, kind: "end" as const }] : []),
];

export function storeAppsContract(name: string, open: OpenStore): void {
  describe(`the apps in ${name}`, () => {
    const clock = { at: start };
    const opened: Store[] = [];
    afterEach(async () => {
      for (const store of opened.splice(0)) await store.close();
    });
    /** The chat "first" of alice in two apps. */
    const openApps = async () => {
      clock.at = start;
      const { store } = await open({ now: () => clock.at });
      opened.push(store);
      const [shop, bank] = [await openChat(store, "shop"), await openChat(store, "bank")];
      return { store, shop, bank };
    };
    const openChat = async (store: Store, appName: string): Promise<Session> => {
      const chat = await store.openChat({ owner: "alice", name: "first", appName });
      await store.holdChat(chat.id, 60_000);
      return chat;
    };
    const ask = (store: Store, chat: Session, call: string, fields: Partial<NewApproval> = {}) =>
      store.createApproval(newApproval(chat, call, fields));

    test("have chats of the same owner and name", async () => {
      const { store, shop, bank } = await openApps();
      expect(shop.id).not.toBe(bank.id);
      expect(await openChat(store, "shop")).toEqual(shop);
      expect(await store.findChat("alice", "first", "shop")).toEqual(shop);
      expect(await store.findChat("alice", "first", "bank")).toEqual(bank);
      expect(await store.findChat("alice", "first", "other")).toBeUndefined();
      const ids = async (appName: string) =>
        (await store.listChats({ owner: "alice", appName })).map(({ id, appName: app }) => [id, app]);
      expect(await ids("shop")).toEqual([[shop.id, "shop"]]);
      expect(await ids("bank")).toEqual([[bank.id, "bank"]]);
      expect(await ids("other")).toEqual([]);
      await store.deleteSession(shop.id);
      expect(await store.findChat("alice", "first", "shop")).toBeUndefined();
      expect(await store.findChat("alice", "first", "bank")).toEqual(bank);
      expect((await openChat(store, "shop")).id).not.toBe(shop.id);
    });

    test("are told apart also where owners, names and apps look alike", async () => {
      const { store } = await openApps();
      const keys = ['","', ":", "/", " "].flatMap((between) => [
        [`a${between}b`, "c", "d"],
        ["a", `b${between}c`, "d"],
        ["a", "b", `c${between}d`],
      ]);
      for (const [owner = "", chat = "", appName = ""] of keys) {
        const { id } = await store.openChat({ owner, name: chat, appName });
        expect(await store.findChat(owner, chat, appName)).toMatchObject({ id, owner, name: chat, appName });
      }
    });

    test("are listed in pages of their own", async () => {
      const { store } = await openApps();
      for (const index of [1, 2, 3, 4])
        for (const appName of ["shop", "bank"]) {
          clock.at += 1;
          await store.openChat({ owner: "bob", name: `${index}`, appName });
        }
      const [last, before] = await store.listChats({ owner: "bob", appName: "shop" }, { limit: 2 });
      expect([last?.name, before?.name]).toEqual(["4", "3"]);
      const after = before && { updatedAt: before.updatedAt, id: before.id };
      const rest = await store.listChats({ owner: "bob", appName: "shop" }, { limit: 9, after });
      expect(rest.map((chat) => [chat.name, chat.appName])).toEqual([
        ["2", "shop"],
        ["1", "shop"],
      ]);
    });

    test("count together towards the limits of an owner and of all", async () => {
      const { store } = await openApps();
      const add = (owner: string, appName: string) =>
        store.openChat({ owner, name: "more", appName }, { chatsPerOwner: 2, chats: 3 });
      await expect(add("alice", "other")).rejects.toMatchObject({ code: "too_many" });
      await add("bob", "shop");
      await expect(add("carol", "bank")).rejects.toMatchObject({ code: "unavailable" });
    });

    test("have rows with the app of their chat, also those of inner sessions", async () => {
      const { store, shop, bank } = await openApps();
      const inner = await store.openSession({ id: "inner", chat: shop.id, appName: "clerk" });
      const own = await ask(store, shop, "call");
      const ofClerk = await ask(store, shop, "inner call", { session: inner.id });
      const others = await ask(store, bank, "call");
      expect([own, ofClerk, others].map(({ appName }) => appName)).toEqual(["shop", "shop", "bank"]);
      expect(await store.getApproval(ofClerk.id)).toEqual(ofClerk);
      const claimed = { appName: "bank" } as Partial<NewApproval>;
      expect(await ask(store, shop, "claims another app", claimed)).toMatchObject({ appName: "shop" });
      expect((await store.move(own.id, { event: "deny", by: "alice" })).approval).toMatchObject({ appName: "shop" });
    });

    test("list their own approvals, by every filter", async () => {
      const { store, shop, bank } = await openApps();
      const rows = [await ask(store, shop, "call"), await ask(store, bank, "call")];
      const filters = [
        {},
        { owner: "alice" },
        { state: "pending" as const },
        { state: "pending" as const, newest: 1 },
        { owner: "alice", about: rows.flatMap(({ id, toolCallId }) => [id, toolCallId]) },
        { messageId: "message" },
        { told: false },
      ];
      for (const filter of filters)
        for (const [index, appName] of ["shop", "bank"].entries())
          expect(await store.listApprovals({ ...filter, appName }), JSON.stringify(filter)).toEqual([rows[index]]);
      expect(await store.listApprovals({})).toHaveLength(2);
      expect(await store.listApprovals({ appName: "other" })).toEqual([]);
      for (const [index, appName] of ["shop", "bank"].entries()) {
        const page = (filter: object) => store.approvalPage({ appName, ...filter }, { limit: 9, maxOutput: 9 });
        for (const filter of [{}, { owner: "alice" }, { owner: "alice", state: "pending" as const }])
          expect((await page(filter)).map(({ approval }) => approval)).toEqual([rows[index]]);
        const key = { idempotencyKey: rows[0]?.idempotencyKey ?? "", appName };
        expect(await store.listApprovals(key)).toEqual(index === 0 ? [rows[0]] : []);
      }
    });

    test("have due rows, open turns and old chats of their own", async () => {
      const { store, shop, bank } = await openApps();
      const rows = [];
      for (const chat of [shop, bank, shop]) rows.push(await ask(store, chat, `call ${rows.length}`));
      for (const chat of [shop, bank]) await store.append(chat.id, turnOf("turn", false));
      expect(await store.dueApprovals({ appName: "shop" })).toEqual([]);
      clock.at += 100_000;
      const due = async (batch: Parameters<Store["dueApprovals"]>[0]) =>
        (await store.dueApprovals(batch)).map(({ id }) => id);
      const [first, second, third] = rows.map(({ id }) => id);
      expect(await due({})).toEqual([first, second, third]);
      expect(await due({ appName: "shop" })).toEqual([first, third]);
      expect(await due({ appName: "shop", after: first ?? "" })).toEqual([third]);
      expect(await due({ appName: "shop", limit: 1, unsettled: true })).toEqual([first]);
      expect(await due({ appName: "bank" })).toEqual([second]);
      expect(await due({ appName: "other" })).toEqual([]);
      const turns = async (filter?: Parameters<Store["openTurns"]>[0]) =>
        (await store.openTurns(filter)).map(({ chat }) => chat);
      expect(await turns()).toEqual([shop.id, bank.id]);
      expect(await turns({ appName: "bank" })).toEqual([bank.id]);
      expect(await turns({ appName: "bank", chat: shop.id })).toEqual([]);
      expect(await turns({ appName: "bank", chat: bank.id })).toEqual([bank.id]);
    });

    test("remove what is old of their own", async () => {
      const { store, shop, bank } = await openApps();
      for (const chat of [shop, bank]) await store.append(chat.id, turnOf("turn"));
      clock.at += 1000;
      const range = { before: clock.at, limit: 9 };
      const old = async (appName?: string) =>
        (await store.unchangedChats({ ...range, ...(appName !== undefined && { appName }) })).map(({ id }) => id);
      expect(await old("bank")).toEqual([bank.id]);
      expect(await old("other")).toEqual([]);
      expect((await old()).toSorted()).toEqual([shop.id, bank.id].toSorted());
      expect(await store.trimChunks({ ...range, appName: "other" })).toBe(0);
      expect(await store.trimChunks({ ...range, appName: "bank" })).toBe(1);
      expect([(await store.read(shop.id)).length, (await store.read(bank.id)).length]).toEqual([3, 2]);
      expect(await store.trimChunks(range)).toBe(1);
    });

    test("have files of their own, also if both have the same one", async () => {
      const { store, shop, bank } = await openApps();
      const save = (chat: Session) =>
        store.saveFile({ id: "f1", chat: chat.id, mediaType: "text/plain", data: Uint8Array.of(1) });
      await save(bank);
      expect(await store.findFile("alice", "f1", "shop")).toBeUndefined();
      await save(shop);
      expect(await store.findFile("alice", "f1", "shop")).toMatchObject({ chat: shop.id });
      expect(await store.findFile("alice", "f1", "bank")).toMatchObject({ chat: bank.id });
    });

    test("find rows and sessions of another app as little as missing ones", async () => {
      const { store, shop, bank } = await openApps();
      const mine = appStore(store, "shop");
      const inner = await store.openSession({ id: "inner", chat: shop.id, appName: "bank" });
      const others = await store.openSession({ id: "other inner", chat: bank.id, appName: "shop" });
      const [own, foreign] = [await ask(store, shop, "call"), await ask(store, bank, "call")];
      expect(await mine.getApproval(own.id)).toEqual(own);
      expect(await mine.getApproval(foreign.id)).toBeUndefined();
      expect(await mine.getSession(shop.id)).toEqual(shop);
      expect(await mine.getSession(inner.id)).toEqual(inner);
      for (const id of [bank.id, others.id]) {
        expect(await mine.getSession(id)).toBeUndefined();
        await mine.deleteSession(id);
        expect(await store.getSession(id)).toBeDefined();
      }
      for (const change of [{ event: "approve", by: "mallory" } as const, { event: "cancel" } as const])
        expect(await mine.move(foreign.id, change)).toEqual({ moved: false, approval: undefined });
      await store.move(foreign.id, { event: "approve", by: "alice" });
      const { approval: row } = await store.move(foreign.id, { event: "claim", leaseOwner: "w", leaseMs: 1000 });
      expect(await mine.renewLease(foreign.id, 1, 9000)).toBe(false);
      expect(await store.getApproval(foreign.id)).toEqual(row);
      await store.move(foreign.id, { event: "succeed", outcome: {}, fence: 1 });
      expect([await mine.markTold(foreign.id), await mine.markShown(foreign.id)]).toEqual([false, false]);
      expect(await mine.dueApprovals()).toEqual([]);
      expect(await mine.listApprovals({ owner: "alice" })).toEqual([own]);
      expect((await mine.unchangedChats({ before: start + 1, limit: 9 })).map(({ id }) => id)).toEqual([]);
      expect(await mine.openChat({ owner: "alice", name: "first", appName: "bank" })).toMatchObject({ id: shop.id });
      expect((await mine.listChats({ owner: "alice" })).map(({ id }) => id)).toEqual([shop.id]);
      expect((await mine.move(own.id, { event: "deny", by: "alice" })).moved).toBe(true);
      expect([await mine.markTold(own.id), await mine.markShown(own.id)]).toEqual([true, true]);
    });
  });
}
