import type { UIMessage, UIMessageChunk } from "ai";
import { afterEach, describe, expect, test, vi } from "vitest";
import { BridgeError, type ErrorCode } from "../../src/protocol/index.ts";
import {
  AlreadyResponded,
  type Approval,
  type Change,
  type NewApproval,
  type NewLogEntry,
  type Session,
  type Store,
  verifyAudit,
} from "../../src/stores/index.ts";

/** A store that was just opened; `reopen`, for durable stores, closes it and opens the same data again. */
export interface OpenedStore {
  store: Store;
  reopen?: () => Promise<Store>;
}
export type OpenStore = (options: { now: () => number }) => OpenedStore | Promise<OpenedStore>;

const start = 1_700_000_000_000;
const ttlMs = 60_000;
const startMs = 30_000;
const leaseMs = 10_000;

/** A pending call of the chat's own session; `call` makes its ids. */
export function newApproval(chat: Session, call: string, fields: Partial<NewApproval> = {}): NewApproval {
  return {
    id: `${chat.id}-${call}`,
    chat: chat.id,
    session: chat.id,
    owner: chat.owner,
    toolCallId: call,
    toolName: "process_payment",
    input: '{"amount":50,"to":"花子"}',
    digest: `digest of ${call}`,
    messageId: "message",
    agent: "root",
    mode: "request",
    external: false,
    gated: true,
    effect: "opaque",
    state: "pending",
    ttlMs,
    startMs,
    ...fields,
  };
}

const approve: Change = { event: "approve", by: "alice" };
const deny: Change = { event: "deny", by: "alice" };
const claim: Change = { event: "claim", leaseOwner: "worker", leaseMs };
const reclaim: Change = { event: "reclaim", leaseOwner: "other worker", leaseMs };
const succeed = (fence?: number): Change => ({ event: "succeed", outcome: { paid: 50 }, fence });
const fail = (fence?: number): Change => ({ event: "fail", outcome: { error: "no money" }, fence });

const begin = (turn: string): NewLogEntry => ({ turn, kind: "begin", reply: `reply of ${turn}` });
const end = (turn: string): NewLogEntry => ({ turn, kind: "end" });
const chunk = (delta: string, turn = "turn"): NewLogEntry => ({
  turn,
  kind: "chunk",
  chunk: { type: "text-delta", id: "text", delta } satisfies UIMessageChunk,
});

/** The store, which takes each chat that is opened: only the node that has a chat may write to it. */
export function holdingChats(store: Store): Store {
  return {
    ...store,
    async openChat(...given) {
      const chat = await store.openChat(...given);
      await store.holdChat(chat.id, leaseMs);
      return chat;
    },
  };
}

async function thrown(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => expect.unreachable("it should have been refused"),
    (error: unknown) => error,
  );
}

async function refusedWith(code: ErrorCode, work: Promise<unknown>): Promise<void> {
  const error = await thrown(work);
  expect(error).toBeInstanceOf(BridgeError);
  expect((error as BridgeError).code).toBe(code);
}

/** What every store must do. Numbers such as I1 and A3 are those of docs/design/approval.md. */
export function storeContract(name: string, open: OpenStore): void {
  describe(`${name}, as every store`, () => {
    afterEach(async () => {
      for (const store of opened.splice(0)) await store.close();
    });

    const clock = { at: start };
    const opened: Store[] = [];
    const openStore = async (): Promise<Store> => {
      clock.at = start;
      const { store } = await open({ now: () => clock.at });
      opened.push(store);
      return holdingChats(store);
    };
    const openChat = async (): Promise<{ store: Store; chat: Session }> => {
      const store = await openStore();
      return { store, chat: await store.openChat({ owner: "alice", name: "first", appName: "app" }) };
    };
    /** A row moved along `changes`, each of which must take. */
    const openRow = async (fields: Partial<NewApproval>, ...changes: Change[]) => {
      const { store, chat } = await openChat();
      const { id } = await store.createApproval(newApproval(chat, "call", fields));
      for (const change of changes) expect((await store.move(id, change)).moved).toBe(true);
      const row = async () => (await store.getApproval(id)) as Approval;
      return { store, chat, id, row, move: (change: Change) => store.move(id, change) };
    };

    test("says that it can be used", async () => {
      const store = await openStore();
      await expect(store.check()).resolves.toBeUndefined();
    });

    test("counts the calls without an outcome by state, of all chats", async () => {
      const { store, chat } = await openChat();
      const other = await store.openChat({ owner: "bob", name: "second", appName: "app" });
      expect(await store.countOpenCalls()).toEqual({ pending: 0, approved: 0, executing: 0, waiting: 0 });
      await store.createApproval(newApproval(chat, "a"));
      await store.createApproval(newApproval(other, "b"));
      const { id } = await store.createApproval(newApproval(chat, "c"));
      await store.createApproval(newApproval(chat, "d", { state: "waiting", reportMs: 1000 }));
      await store.move(id, approve);
      expect(await store.countOpenCalls()).toEqual({ pending: 2, approved: 1, executing: 0, waiting: 1 });
      await store.move(id, claim);
      expect(await store.countOpenCalls()).toMatchObject({ approved: 0, executing: 1 });
      await store.move(id, succeed(1));
      expect(await store.countOpenCalls()).toEqual({ pending: 2, approved: 0, executing: 0, waiting: 1 });
      await store.deleteSession(chat.id);
      expect(await store.countOpenCalls()).toEqual({ pending: 1, approved: 0, executing: 0, waiting: 0 });
    });

    describe("sessions", () => {
      test("opens a chat once per owner and name", async () => {
        const store = await openStore();
        const chat = await store.openChat({ owner: "alice", name: "first", appName: "app" });
        expect(chat).toEqual({
          id: expect.stringMatching(/^.{22,}$/),
          chat: chat.id,
          owner: "alice",
          name: "first",
          appName: "app",
          state: {},
          createdAt: start,
          updatedAt: start,
          revision: 0,
        });
        clock.at += 5;
        expect(await store.openChat({ owner: "alice", name: "first", appName: "app" })).toEqual(chat);
        expect(await store.findChat("alice", "first", "app")).toEqual(chat);
        expect(await store.getSession(chat.id)).toEqual(chat);
      });

      test("refuses a new chat past the limit of its owner and of all, and opens those that exist", async () => {
        const store = await openStore();
        const limits = { chatsPerOwner: 2, chats: 3 };
        const add = (owner: string, chat: string) => store.openChat({ owner, name: chat, appName: "app" }, limits);
        const first = await add("alice", "one");
        await add("alice", "two");
        await refusedWith("too_many", add("alice", "three"));
        expect(await add("alice", "one")).toEqual(first);
        await store.openSession({ id: "inner", chat: first.id, appName: "tool" });
        await add("bob", "one");
        await refusedWith("unavailable", add("bob", "two"));
        await store.deleteSession(first.id);
        await add("alice", "three");
        await refusedWith("unavailable", add("bob", "two"));
        await store.openChat({ owner: "bob", name: "two", appName: "app" });
      });

      test("gives callers who open the same chat at once the same session", async () => {
        const store = await openStore();
        const chats = await Promise.all(
          Array.from({ length: 20 }, () => store.openChat({ owner: "alice", name: "first", appName: "app" })),
        );
        expect(new Set(chats.map(({ id }) => id)).size).toBe(1);
      });

      test("A2: keeps the chats of two owners apart, whatever their names look like", async () => {
        const store = await openStore();
        const pairs = [
          ["alice", "first"],
          ["bob", "first"],
          ["alice", "First"],
          ["alice", "first "],
          ["alice", ""],
          ["alice", "caf\u00e9"],
          ["alice", "cafe\u0301"],
          ["__proto__", "constructor"],
          ["alice", "__proto__"],
          ["alice", "'; DROP TABLE session; --"],
          ...['","', "\u0001", " ", ":", "/", "|"].flatMap((between) => [
            ["a", `b${between}c`],
            [`a${between}b`, "c"],
          ]),
        ];
        const ids = new Map<string, readonly string[]>();
        for (const [owner = "", chatName = ""] of pairs) {
          const chat = await store.openChat({ owner, name: chatName, appName: "app" });
          expect(chat).toMatchObject({ owner, name: chatName });
          ids.set(chat.id, [owner, chatName]);
        }
        expect(ids.size).toBe(pairs.length);
        for (const [id, [owner = "", chatName = ""]] of ids) {
          expect((await store.findChat(owner, chatName, "app"))?.id).toBe(id);
          expect((await store.getSession(id))?.id).toBe(id);
        }
        expect(await store.findChat("carol", "first", "app")).toBeUndefined();
        expect(await store.getSession("__proto__")).toBeUndefined();
        expect(await store.getApproval("__proto__")).toBeUndefined();
      });

      test("refuses names that a database cannot give back as they were", async () => {
        const { store, chat } = await openChat();
        await store.openChat({ owner: "alice", name: "a\ufffd", appName: "app" });
        await refusedWith("invalid", store.openChat({ owner: "alice", name: "a\ud800", appName: "app" }));
        await refusedWith("invalid", store.openChat({ owner: "a\0b", name: "a", appName: "app" }));
        await refusedWith("invalid", store.createApproval(newApproval(chat, "call\udc00")));
        await refusedWith("invalid", store.appendEvent(chat.id, { id: "e", event: {}, responses: ["\ud800"] }));
        expect(await store.listApprovals({})).toEqual([]);
        expect(await store.events(chat.id)).toEqual([]);
      });

      test("opens a session inside a chat, with the chat's owner and no name of its own", async () => {
        const { store, chat } = await openChat();
        const inner = await store.openSession({ id: "inner", chat: chat.id, appName: "tool", state: { a: 1 } });
        expect(inner).toEqual({
          id: "inner",
          chat: chat.id,
          owner: "alice",
          appName: "tool",
          state: { a: 1 },
          createdAt: start,
          updatedAt: start,
          revision: 0,
        });
        expect(await store.openSession({ id: "inner", chat: chat.id, appName: "other" })).toEqual(inner);
      });

      test("refuses a session in a chat that is unknown, is none, or is another than the one that has the id", async () => {
        const { store, chat } = await openChat();
        const other = await store.openChat({ owner: "bob", name: "first", appName: "app" });
        await store.openSession({ id: "inner", chat: chat.id, appName: "tool" });
        await refusedWith("not_found", store.openSession({ id: "x", chat: "unknown", appName: "tool" }));
        await refusedWith("not_found", store.openSession({ id: "x", chat: "inner", appName: "tool" }));
        await refusedWith("conflict", store.openSession({ id: "inner", chat: other.id, appName: "tool" }));
      });

      test("returns events in the order they were appended, numbered, with the state merged", async () => {
        const { store, chat } = await openChat();
        await store.appendEvent(chat.id, {
          id: "z",
          event: { n: 1 },
          responses: [],
          stateDelta: { a: 1, b: { c: 2 } },
        });
        clock.at += 7;
        const second = await store.appendEvent(chat.id, {
          id: "a",
          event: { n: 2 },
          responses: [],
          stateDelta: { a: undefined, b: 3, gone: undefined },
        });
        expect(second).toEqual({ position: 2, event: { n: 2 }, size: 7 });
        expect(await store.events(chat.id)).toEqual([{ position: 1, event: { n: 1 }, size: 7 }, second]);
        expect(await store.getSession(chat.id)).toMatchObject({ state: { a: 1, b: 3 }, updatedAt: start + 7 });
      });

      test("replaces an event with the same id in place", async () => {
        const { store, chat } = await openChat();
        await store.appendEvent(chat.id, { id: "a", event: { n: 1 }, responses: ["call"] });
        await store.appendEvent(chat.id, { id: "b", event: { n: 2 }, responses: [] });
        const again = await store.appendEvent(chat.id, { id: "a", event: { n: 3 }, responses: ["call"] });
        expect(again.position).toBe(1);
        expect((await store.events(chat.id)).map(({ event }) => event)).toEqual([{ n: 3 }, { n: 2 }]);
      });

      test("frees the calls that a replaced event no longer answers", async () => {
        const { store, chat } = await openChat();
        await store.appendEvent(chat.id, { id: "a", event: {}, responses: ["call"] });
        await store.appendEvent(chat.id, { id: "a", event: {}, responses: [] });
        await store.appendEvent(chat.id, { id: "b", event: {}, responses: ["call"] });
        expect(await store.events(chat.id)).toHaveLength(2);
      });

      test("says by a revision whether earlier events have changed, and returns the later ones alone", async () => {
        const { store, chat } = await openChat();
        const revision = async () => (await store.getSession(chat.id))?.revision;
        const append = (id: string, n: number) => store.appendEvent(chat.id, { id, event: { n }, responses: [] });
        await append("a", 1);
        await append("b", 2);
        expect(await revision()).toBe(0);
        expect((await store.events(chat.id, { after: 1 })).map(({ event }) => event)).toEqual([{ n: 2 }]);
        await append("a", 3);
        expect(await revision()).toBe(1);
        await store.withdrawEvents(chat.id, 2);
        expect(await revision()).toBe(2);
        await append("c", 4);
        expect(await revision()).toBe(2);
        expect((await store.events(chat.id, { after: 1 })).map(({ event }) => event)).toEqual([{ n: 4 }]);
      });

      test("I10: one response per call of a session; the second changes nothing and says which call", async () => {
        const { store, chat } = await openChat();
        await store.appendEvent(chat.id, { id: "a", event: { n: 1 }, responses: ["one", "two"] });
        const late = { id: "b", event: { n: 2 }, responses: ["three", "two"], stateDelta: { late: true } };
        const error = await thrown(store.appendEvent(chat.id, late));
        expect(error).toBeInstanceOf(AlreadyResponded);
        expect((error as AlreadyResponded).callId).toBe("two");
        expect(await store.events(chat.id)).toEqual([{ position: 1, event: { n: 1 }, size: 7 }]);
        expect((await store.getSession(chat.id))?.state).toEqual({});
        await store.appendEvent(chat.id, { id: "c", event: {}, responses: ["three", "three"] });
      });

      test("I10: of twenty answers to one call at once exactly one is appended", async () => {
        const { store, chat } = await openChat();
        const results = await Promise.allSettled(
          Array.from({ length: 20 }, (_, n) =>
            store.appendEvent(chat.id, { id: `e${n}`, event: { n }, responses: ["call"] }),
          ),
        );
        expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
        expect(await store.events(chat.id)).toHaveLength(1);
      });

      test("the same call id may be answered in two sessions", async () => {
        const { store, chat } = await openChat();
        await store.openSession({ id: "inner", chat: chat.id, appName: "tool" });
        await store.appendEvent(chat.id, { id: "a", event: {}, responses: ["call"] });
        await store.appendEvent("inner", { id: "a", event: {}, responses: ["call"] });
        expect(await store.events("inner")).toHaveLength(1);
      });

      test("withdrawn events are gone, their calls may be answered again, and positions are not used twice", async () => {
        const { store, chat } = await openChat();
        for (const n of [1, 2, 3]) {
          await store.appendEvent(chat.id, { id: `e${n}`, event: { n }, responses: [`call${n}`] });
        }
        await store.withdrawEvents(chat.id, 2);
        expect((await store.events(chat.id)).map(({ event }) => event)).toEqual([{ n: 1 }]);
        const again = await store.appendEvent(chat.id, { id: "e2", event: { n: 4 }, responses: ["call2", "call3"] });
        expect(again.position).toBe(4);
        expect(await thrown(store.appendEvent(chat.id, { id: "e5", event: {}, responses: ["call1"] }))).toBeInstanceOf(
          AlreadyResponded,
        );
        expect((await store.events(chat.id)).map(({ event }) => event)).toEqual([{ n: 1 }, { n: 4 }]);
      });

      test("refuses an event for a session that is not there", async () => {
        const store = await openStore();
        await refusedWith("not_found", store.appendEvent("unknown", { id: "a", event: {}, responses: [] }));
        expect(await store.events("unknown")).toEqual([]);
      });

      test("deleting a chat removes inner sessions, events, log, open turns, approvals and audit, of that chat alone", async () => {
        const { store, chat } = await openChat();
        const other = await store.openChat({ owner: "alice", name: "other", appName: "app" });
        for (const each of [chat, other]) {
          const inner = `inner of ${each.name}`;
          await store.openSession({ id: inner, chat: each.id, appName: "tool" });
          await store.appendEvent(each.id, { id: "e", event: {}, responses: ["call"] });
          await store.appendEvent(inner, { id: "e", event: {}, responses: ["call"] });
          await store.append(each.id, [begin("turn"), chunk("hello")]);
          await store.createApproval(newApproval(each, "call"));
          await store.createApproval(newApproval(each, "inner call", { session: inner }));
        }
        const state = async (each: Session) => ({
          session: await store.getSession(each.id),
          found: await store.findChat("alice", each.name ?? "", "app"),
          inner: await store.getSession(`inner of ${each.name}`),
          events: await store.events(each.id),
          innerEvents: await store.events(`inner of ${each.name}`),
          log: await store.read(each.id),
          last: await store.lastSequence(each.id),
          turns: (await store.openTurns()).filter((turn) => turn.chat === each.id),
          approvals: await store.listApprovals({ chat: each.id }),
          audit: await store.audit(each.id),
        });
        const before = await state(other);
        expect(before.approvals).toHaveLength(2);

        await store.deleteSession(chat.id);
        await store.deleteSession("unknown");
        expect(await state(chat)).toEqual({
          session: undefined,
          found: undefined,
          inner: undefined,
          events: [],
          innerEvents: [],
          log: [],
          last: 0,
          turns: [],
          approvals: [],
          audit: [],
        });
        expect(await state(other)).toEqual(before);
        await refusedWith("not_found", store.append(chat.id, [chunk("too late")]));
        expect((await store.openChat({ owner: "alice", name: "first", appName: "app" })).id).not.toBe(chat.id);
      });

      test("deleting an inner session leaves its chat, and the chat's audit, whole", async () => {
        const { store, chat } = await openChat();
        await store.openSession({ id: "inner", chat: chat.id, appName: "tool" });
        await store.createApproval(newApproval(chat, "call"));
        await store.createApproval(newApproval(chat, "inner call", { session: "inner" }));
        await store.deleteSession("inner");
        expect(await store.getSession("inner")).toBeUndefined();
        expect((await store.listApprovals({ chat: chat.id })).map(({ toolCallId }) => toolCallId)).toEqual(["call"]);
        expect(await store.audit(chat.id)).toHaveLength(2);
        expect(verifyAudit(await store.audit(chat.id))).toBeUndefined();
      });
    });

    describe("the log", () => {
      test("numbers the entries of each chat from 1 and reads them back in order", async () => {
        const { store, chat } = await openChat();
        const other = await store.openChat({ owner: "alice", name: "other", appName: "app" });
        const first = await store.append(chat.id, [begin("turn"), chunk("a"), chunk("b")]);
        clock.at += 3;
        await store.append(other.id, [chunk("elsewhere")]);
        const second = await store.append(chat.id, [chunk("c")]);
        expect(first.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
        expect(second).toEqual([{ ...chunk("c"), sequence: 4, at: start + 3 }]);
        expect(await store.read(chat.id)).toEqual([...first, ...second]);
        expect(await store.read(chat.id, { after: 2 })).toEqual([first[2], ...second]);
        expect(await store.read(chat.id, { after: 1, limit: 2 })).toEqual(first.slice(1));
        expect(await store.read(chat.id, { after: -3, limit: 1 })).toEqual(first.slice(0, 1));
        expect(await store.read(chat.id, { after: 4 })).toEqual([]);
        expect(await store.lastSequence(chat.id)).toBe(4);
        expect(await store.lastSequence(other.id)).toBe(1);
        expect(await store.lastSequence("unknown")).toBe(0);
      });

      test("leaves no gap and no double number when many append at once", async () => {
        const { store, chat } = await openChat();
        await Promise.all(
          Array.from({ length: 30 }, (_, n) =>
            store.append(chat.id, [chunk(`${n}a`), chunk(`${n}b`), ...(n % 3 ? [] : [begin(`${n}`), end(`${n}`)])]),
          ),
        );
        const entries = await store.read(chat.id);
        expect(entries.map(({ sequence }) => sequence)).toEqual(entries.map((_, index) => index + 1));
        expect(entries).toHaveLength(80);
      });

      test("appending nothing adds nothing and calls no watcher", async () => {
        const { store, chat } = await openChat();
        const listener = vi.fn();
        store.watch(chat.id, listener);
        expect(await store.append(chat.id, [])).toEqual([]);
        expect(await store.lastSequence(chat.id)).toBe(0);
        expect(listener).not.toHaveBeenCalled();
      });

      test("refuses entries for an unknown chat and for an inner session", async () => {
        const { store, chat } = await openChat();
        await store.openSession({ id: "inner", chat: chat.id, appName: "tool" });
        await refusedWith("not_found", store.append("unknown", [chunk("a")]));
        await refusedWith("not_found", store.append("inner", [chunk("a")]));
      });

      test("appends all entries or none", async () => {
        const { store, chat } = await openChat();
        await store.append(chat.id, [chunk("a")]);
        const circular: Record<string, unknown> = {};
        circular["self"] = circular;
        const bad = { turn: "turn", kind: "chunk", chunk: { type: "data-x", data: circular } } as NewLogEntry;
        expect(await thrown(store.append(chat.id, [begin("turn"), bad]))).toBeInstanceOf(TypeError);
        expect(await store.lastSequence(chat.id)).toBe(1);
        expect(await store.openTurns()).toEqual([]);
        expect((await store.append(chat.id, [chunk("b")])).map(({ sequence }) => sequence)).toEqual([2]);
      });

      test("lists the turns that began and have not ended, oldest first", async () => {
        const { store, chat } = await openChat();
        const other = await store.openChat({ owner: "alice", name: "other", appName: "app" });
        await store.append(other.id, [begin("one")]);
        await store.append(chat.id, [chunk("before"), begin("one"), chunk("a", "one")]);
        await store.append(chat.id, [begin("two")]);
        expect(await store.openTurns()).toEqual([
          { chat: other.id, turn: "one", sequence: 1 },
          { chat: chat.id, turn: "one", sequence: 2 },
          { chat: chat.id, turn: "two", sequence: 4 },
        ]);
        await store.append(chat.id, [end("one")]);
        await store.append(other.id, [chunk("last", "one"), end("one")]);
        expect(await store.openTurns()).toEqual([{ chat: chat.id, turn: "two", sequence: 4 }]);
        await store.append(chat.id, [end("two"), begin("three"), end("three")]);
        expect(await store.openTurns()).toEqual([]);
      });

      test("a turn ends once: with the entries and the message of a second end nothing is changed", async () => {
        const { store, chat } = await openChat();
        const heard = (text: string): NewLogEntry => ({
          ...{ turn: "turn", kind: "end" },
          message: { id: "reply", role: "assistant", parts: [{ type: "text", text }] },
        });
        await store.append(chat.id, [begin("turn"), chunk("a"), heard("a")]);
        const state = async () => [await store.read(chat.id), await store.messages(chat.id), await store.openTurns()];
        const before = await state();
        await refusedWith("conflict", store.append(chat.id, [heard("a a")]));
        await refusedWith("conflict", store.append(chat.id, [chunk("late"), heard("a late")]));
        await refusedWith("conflict", store.append(chat.id, [begin("next"), end("next"), end("next")]));
        await refusedWith("conflict", store.append(chat.id, [end("unknown")]));
        expect(await state()).toEqual(before);
        const [next] = await store.append(chat.id, [begin("next"), end("next")]);
        expect(next?.sequence).toBe(4);
      });

      test("a turn that begins twice keeps its first place, and may be opened again after its end", async () => {
        const { store, chat } = await openChat();
        await store.append(chat.id, [begin("turn"), chunk("a")]);
        await store.append(chat.id, [begin("turn")]);
        expect(await store.openTurns()).toEqual([{ chat: chat.id, turn: "turn", sequence: 1 }]);
        await store.append(chat.id, [end("turn"), begin("turn")]);
        expect(await store.openTurns()).toEqual([{ chat: chat.id, turn: "turn", sequence: 5 }]);
      });

      test("calls watchers of the chat after each append, with what a reader would read", async () => {
        const { store, chat } = await openChat();
        const other = await store.openChat({ owner: "alice", name: "other", appName: "app" });
        const heard: unknown[] = [];
        const stop = store.watch(chat.id, ({ entries = [] }) => heard.push(...entries));
        await store.append(chat.id, [begin("turn"), chunk("a")]);
        await store.append(other.id, [chunk("elsewhere")]);
        await store.append(chat.id, [chunk("b")]);
        stop();
        stop();
        await store.append(chat.id, [chunk("c")]);
        expect(heard).toEqual((await store.read(chat.id)).slice(0, 3));
      });

      test("a watcher sees its entries in the log already", async () => {
        const { store, chat } = await openChat();
        const reads: Promise<number>[] = [];
        store.watch(chat.id, () => reads.push(store.lastSequence(chat.id)));
        await store.append(chat.id, [chunk("a"), chunk("b")]);
        expect(await Promise.all(reads)).toEqual([2]);
      });

      test("a watcher that throws breaks neither the append nor the other watchers", async () => {
        const { store, chat } = await openChat();
        const good = vi.fn();
        store.watch(chat.id, () => {
          throw new Error("a reader's own trouble");
        });
        store.watch(chat.id, good);
        expect(await store.append(chat.id, [chunk("a")])).toHaveLength(1);
        await store.append(chat.id, [chunk("b")]);
        expect(good).toHaveBeenCalledTimes(2);
      });

      test("every watcher hears the entries in order, even when one of them appends", async () => {
        const { store, chat } = await openChat();
        const heard: number[] = [];
        const own: Promise<unknown>[] = [];
        store.watch(chat.id, ({ entries = [] }) => {
          if (entries[0]?.sequence === 1) own.push(store.append(chat.id, [chunk("from a watcher")]));
        });
        store.watch(chat.id, ({ entries = [] }) => heard.push(...entries.map(({ sequence }) => sequence)));
        await store.append(chat.id, [chunk("a")]);
        await Promise.all(own);
        expect(heard).toEqual([1, 2]);
      });

      test("a watcher that another one stops is not called any more", async () => {
        const { store, chat } = await openChat();
        const second = vi.fn();
        let stopSecond = () => {};
        store.watch(chat.id, () => stopSecond());
        stopSecond = store.watch(chat.id, second);
        await store.append(chat.id, [chunk("a")]);
        expect(second).not.toHaveBeenCalled();
      });
    });

    describe("messages", () => {
      const words = (id: string, role: "user" | "assistant", text: string): UIMessage => ({
        id,
        role,
        parts: [{ type: "text", text }],
      });
      const say = (turn: string, reply: string, said: string, heard: string): NewLogEntry[] => [
        { turn, kind: "begin", reply, message: words(`u-${turn}`, "user", said) },
        { turn, kind: "chunk", chunk: { type: "start", messageId: reply } },
        { turn, kind: "end", message: words(reply, "assistant", heard) },
      ];
      const ids = (messages: { message: UIMessage }[]) => messages.map(({ message }) => message.id);
      const textOf = ({ message }: { message: UIMessage }) => JSON.stringify(message.parts);

      test("a turn adds the user's message when it begins and the reply when it ends", async () => {
        const { store, chat } = await openChat();
        const entries = say("1", "m1", "Hello", "Hi.");
        await store.append(chat.id, entries.slice(0, -1));
        expect(ids(await store.messages(chat.id))).toEqual(["u-1"]);
        await store.append(chat.id, entries.slice(-1));
        const stored = await store.messages(chat.id);
        expect(stored).toEqual([
          { message: words("u-1", "user", "Hello"), sequence: 1, at: expect.any(Number), size: expect.any(Number) },
          { message: words("m1", "assistant", "Hi."), sequence: 2, at: expect.any(Number), size: expect.any(Number) },
        ]);
        expect(stored[0]!.size).toBe(JSON.stringify(stored[0]!.message).length);
        expect(await store.getMessage(chat.id, "m1")).toEqual(stored[1]);
        expect(await store.getMessage(chat.id, "other")).toBeUndefined();
        // The log has the reply as chunks only.
        expect((await store.read(chat.id)).at(-1)).toEqual({ turn: "1", kind: "end", sequence: 3, at: stored[1]!.at });
      });

      test("a message that is continued keeps its place", async () => {
        const { store, chat } = await openChat();
        await store.append(chat.id, [...say("1", "m1", "pay", "?"), ...say("2", "m2", "hello", "Hi.")]);
        await store.append(chat.id, [
          { turn: "3", kind: "begin", reply: "m1" },
          { turn: "3", kind: "end", message: words("m1", "assistant", "Paid.") },
        ]);
        const messages = await store.messages(chat.id);
        expect(ids(messages)).toEqual(["u-1", "m1", "u-2", "m2"]);
        expect(textOf(messages[1]!)).toContain("Paid.");
        expect((await store.lastMessage(chat.id, "assistant"))?.message.id).toBe("m2");
        expect((await store.lastMessage(chat.id, "user"))?.message.id).toBe("u-2");
      });

      test("are read page by page from the end, each page in order", async () => {
        const { store, chat } = await openChat();
        for (const turn of ["1", "2", "3"]) await store.append(chat.id, say(turn, `m${turn}`, "?", "!"));
        expect(ids(await store.messages(chat.id, { limit: 2 }))).toEqual(["u-3", "m3"]);
        expect(ids(await store.messages(chat.id, { before: "u-3", limit: 3 }))).toEqual(["m1", "u-2", "m2"]);
        expect(ids(await store.messages(chat.id, { before: "m1", limit: 3 }))).toEqual(["u-1"]);
        expect(await store.messages(chat.id, { before: "u-1" })).toEqual([]);
        expect(await store.messages(chat.id, { before: "unknown" })).toEqual([]);
      });

      test("are withdrawn with the entries of the log, and their ids may be used again", async () => {
        const { store, chat } = await openChat();
        await store.append(chat.id, [
          ...say("1", "m1", "a", "b"),
          ...say("2", "m2", "c", "d"),
          ...say("3", "m3", "e", "f"),
        ]);
        await store.append(chat.id, [{ turn: "x", kind: "withdraw", from: 4 }]);
        expect(ids(await store.messages(chat.id))).toEqual(["u-1", "m1"]);
        expect(await store.lastMessage(chat.id, "user")).toMatchObject({ message: { id: "u-1" } });
        await store.append(chat.id, say("2", "m4", "C", "D"));
        const messages = await store.messages(chat.id);
        expect(ids(messages)).toEqual(["u-1", "m1", "u-2", "m4"]);
        expect(textOf(messages[2]!)).toContain("C");
      });

      test("are withdrawn together with the history and the rows of their calls, or not at all", async () => {
        const { store, chat } = await openChat();
        await store.append(chat.id, [...say("1", "m1", "a", "b"), ...say("2", "m2", "c", "d")]);
        for (const n of [1, 2, 3, 4])
          await store.appendEvent(chat.id, { id: `e${n}`, event: { n }, responses: [`call${n}`] });
        const [asking, denied] = [
          await store.createApproval(newApproval(chat, "call2")),
          await store.createApproval(newApproval(chat, "call3")),
        ];
        await store.move(denied.id, deny);
        const withdraw: NewLogEntry = { turn: "x", kind: "withdraw", from: 4, message: "u-2" };
        const rest = { closed: [asking.id, denied.id], moved: { rows: [asking.id], messageId: "m3" } };
        const taken = { id: "e5", event: {}, responses: ["call1"] };
        const refused = store.append(chat.id, [withdraw], { events: [2], put: [taken], ...rest });
        expect(await thrown(refused)).toBeInstanceOf(AlreadyResponded);
        expect(ids(await store.messages(chat.id))).toEqual(["u-1", "m1", "u-2", "m2"]);
        expect(await store.events(chat.id)).toHaveLength(4);
        expect(await store.getApproval(denied.id)).toMatchObject({ told: false, messageId: "message" });

        const put = [
          { id: "e3", event: { n: "changed" }, responses: ["call3"] },
          { id: "e6", event: { n: 6 }, responses: ["call2"] },
        ];
        const added = await store.append(chat.id, [withdraw, ...say("3", "m3", "e", "f")], {
          ...{ events: [2, 4], put },
          ...rest,
        });
        expect(added[0]).toMatchObject({ kind: "withdraw", message: "u-2" });
        expect(ids(await store.messages(chat.id))).toEqual(["u-1", "m1", "u-3", "m3"]);
        expect((await store.events(chat.id)).map(({ position, event }) => [position, event["n"]])).toEqual([
          [1, 1],
          [3, "changed"],
          [5, 6],
        ]);
        // A row that is not settled is not closed, and no row of another chat is touched.
        expect(await store.getApproval(asking.id)).toMatchObject({ state: "pending", told: false, messageId: "m3" });
        expect(await store.getApproval(denied.id)).toMatchObject({ state: "denied", told: true, shown: true });
        expect((await store.listApprovals({ chat: chat.id, messageId: "m3" })).map(({ id }) => id)).toEqual([
          asking.id,
        ]);
        expect((await store.listApprovals({ messageId: "message" })).map(({ id }) => id)).toEqual([denied.id]);
      });

      test("belong to their chat and go with it", async () => {
        const { store, chat } = await openChat();
        const other = await store.openChat({ owner: "alice", name: "other", appName: "app" });
        await store.append(chat.id, say("1", "m1", "a", "b"));
        await store.append(other.id, say("1", "m1", "c", "d"));
        await store.deleteSession(chat.id);
        expect(await store.messages(chat.id)).toEqual([]);
        expect(ids(await store.messages(other.id))).toEqual(["u-1", "m1"]);
        expect(await store.lastMessage(chat.id, "user")).toBeUndefined();
      });
    });

    describe("files", () => {
      const data = Uint8Array.from([0, 255, 1, 128]);
      const file = (chat: Session, id = "f1") => ({ id, chat: chat.id, mediaType: "image/png", name: "絵.png", data });

      test("come back as they were stored, once", async () => {
        const { store, chat } = await openChat();
        await store.saveFile(file(chat));
        clock.at += 5;
        await store.saveFile({ ...file(chat), name: "other" });
        const found = await store.getFile(chat.id, "f1");
        expect(found).toMatchObject({ id: "f1", chat: chat.id, mediaType: "image/png", name: "絵.png", at: start });
        expect([...(found?.data ?? [])]).toEqual([...data]);
        expect(await store.getFile(chat.id, "f2")).toBeUndefined();
        await store.saveFile({ id: "f2", chat: chat.id, mediaType: "text/plain", data: new Uint8Array() });
        expect(await store.getFile(chat.id, "f2")).not.toHaveProperty("name");
      });

      test("are read only up to the size that the reader has room for", async () => {
        const { store, chat } = await openChat();
        await store.saveFile(file(chat));
        expect(await store.getFile(chat.id, "f1", { maxBytes: data.byteLength })).toMatchObject({ id: "f1" });
        expect(await store.getFile(chat.id, "f1", { maxBytes: data.byteLength - 1 })).toBeUndefined();
      });

      test("are copies", async () => {
        const { store, chat } = await openChat();
        const mine = Uint8Array.from(data);
        await store.saveFile({ ...file(chat), data: mine });
        mine.fill(9);
        (await store.getFile(chat.id, "f1"))?.data.fill(8);
        expect([...((await store.getFile(chat.id, "f1"))?.data ?? [])]).toEqual([...data]);
      });

      test("A2: belong to their chat and its owner, also if two chats have the same one", async () => {
        const { store, chat } = await openChat();
        const second = await store.openChat({ owner: "alice", name: "second", appName: "app" });
        const others = await store.openChat({ owner: "bob", name: "first", appName: "app" });
        await store.saveFile(file(chat));
        await store.saveFile(file(second));
        expect(await store.getFile(others.id, "f1")).toBeUndefined();
        expect(await store.findFile("bob", "f1", "app")).toBeUndefined();
        await store.deleteSession(chat.id);
        expect(await store.getFile(chat.id, "f1")).toBeUndefined();
        expect(await store.findFile("alice", "f1", "app")).toMatchObject({ chat: second.id });
        await store.deleteSession(second.id);
        expect(await store.findFile("alice", "f1", "app")).toBeUndefined();
      });

      test("need a chat", async () => {
        const { store, chat } = await openChat();
        const inner = await store.openSession({ id: "inner", chat: chat.id, appName: "app" });
        await refusedWith("not_found", store.saveFile({ ...file(chat), chat: "none" }));
        await refusedWith("not_found", store.saveFile({ ...file(chat), chat: inner.id }));
      });
    });

    describe("what is stored is JSON and belongs to the store", () => {
      const tricky = JSON.parse(
        '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"empty":{},"list":[],"no":null,' +
          '"text":"花子 👩‍👩‍👧 \\u202e \\u0000 \\u2028 \\ud800 \\"\\\\","":0,"big":9007199254740991,"small":1e-7}',
      ) as Record<string, unknown>;

      test("A18: keeps unicode, empty values and any key, and pollutes nothing", async () => {
        const { store, chat } = await openChat();
        await store.appendEvent(chat.id, { id: "e", event: tricky, responses: [], stateDelta: tricky });
        await store.append(chat.id, [
          { turn: "turn", kind: "chunk", chunk: { type: "data-x", data: tricky } as UIMessageChunk },
        ]);
        const { id } = await store.createApproval(
          newApproval(chat, "call", { payload: tricky, hint: "花子 👩‍👩‍👧 \u202e" }),
        );
        await store.move(id, approve);
        await store.move(id, claim);
        await store.move(id, { event: "succeed", outcome: tricky, stateDelta: tricky, fence: 1 });

        const text = JSON.stringify(tricky);
        const row = await store.getApproval(id);
        const [entry] = await store.read(chat.id);
        const session = await store.getSession(chat.id);
        expect(JSON.stringify((await store.events(chat.id))[0]?.event)).toBe(text);
        expect(JSON.stringify((entry as { chunk?: { data: unknown } }).chunk?.data)).toBe(text);
        for (const value of [row?.payload, row?.outcome, row?.stateDelta, session?.state]) {
          expect(JSON.stringify(value)).toBe(text);
          expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
        }
        expect(row?.hint).toBe("花子 👩‍👩‍👧 \u202e");
        expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
      });

      test("drops undefined fields and keeps null ones", async () => {
        const { store, chat } = await openChat();
        const { event } = await store.appendEvent(chat.id, {
          id: "e",
          event: { gone: undefined, no: null, deep: { gone: undefined } },
          responses: [],
        });
        expect(event).toStrictEqual({ no: null, deep: {} });
        const row = await store.createApproval(newApproval(chat, "call", { payload: null, branch: undefined }));
        expect(row.payload).toBeNull();
        expect(Object.values(row)).not.toContain(undefined);
        expect(row).toStrictEqual(await store.getApproval(row.id));
        const without = await store.createApproval(newApproval(chat, "other"));
        expect("payload" in without).toBe(false);
      });

      test("replaces broken characters in free text", async () => {
        const { row, move } = await openRow({ hint: "a\ud800b" });
        await move({ event: "deny", by: "alice", reason: "c\udc00d\0" });
        expect(await row()).toMatchObject({ hint: "a\ufffdb", reason: "c\ufffdd\ufffd" });
      });

      test("I15: a caller cannot change the stored data by changing what it passed in or got back", async () => {
        const { store, chat } = await openChat();
        const event = { deep: { n: 1 } };
        const stateDelta = { deep: { n: 1 } };
        const payload = { deep: { n: 1 } };
        const outcome = { deep: { n: 1 } };
        const entry = chunk("a") as { chunk: { delta: string } } & NewLogEntry;
        const inner = await store.openSession({ id: "inner", chat: chat.id, appName: "tool", state: stateDelta });
        const stored = await store.appendEvent(chat.id, { id: "e", event, responses: [], stateDelta });
        const [logged] = await store.append(chat.id, [entry]);
        const created = await store.createApproval(newApproval(chat, "call", { payload }));
        await store.move(created.id, approve);
        await store.move(created.id, claim);
        const { approval: moved } = await store.move(created.id, { event: "succeed", outcome, stateDelta, fence: 1 });

        const read = [
          await store.getSession(chat.id),
          await store.findChat("alice", "first", "app"),
          await store.openChat({ owner: "alice", name: "first", appName: "app" }),
        ].map((session) => session?.state);
        for (const value of [event, stateDelta, payload, outcome, stored.event, inner.state, moved?.outcome, ...read]) {
          (value as { deep: { n: number } }).deep.n = 2;
        }
        entry.chunk.delta = "changed";
        (logged as typeof entry).chunk.delta = "changed";
        created.input = "changed";
        (moved as Approval).state = "denied";
        for (const listed of await store.listApprovals({})) listed.state = "denied";
        for (const listed of await store.audit(chat.id)) listed.hash = "changed";

        expect(await store.events(chat.id)).toEqual([{ position: 1, event: { deep: { n: 1 } }, size: 16 }]);
        expect((await store.getSession(chat.id))?.state).toEqual({ deep: { n: 1 } });
        expect((await store.getSession("inner"))?.state).toEqual({ deep: { n: 1 } });
        expect(await store.read(chat.id)).toMatchObject([chunk("a")]);
        expect(await store.getApproval(created.id)).toMatchObject({
          state: "succeeded",
          input: newApproval(chat, "call").input,
          payload: { deep: { n: 1 } },
          outcome: { deep: { n: 1 } },
          stateDelta: { deep: { n: 1 } },
        });
        expect(verifyAudit(await store.audit(chat.id))).toBeUndefined();
      });
    });

    describe("approvals", () => {
      test("creates a pending row that expires by the store's clock", async () => {
        const { store, chat } = await openChat();
        const asked = newApproval(chat, "call", { branch: "root.payer", hint: "sure?", innerSession: "inner" });
        const { ttlMs: _ttl, ...kept } = asked;
        const row = await store.createApproval(asked);
        expect(row).toStrictEqual({
          ...kept,
          appName: "app",
          createdAt: start,
          expiresAt: start + ttlMs,
          idempotencyKey: expect.any(String),
          fence: 0,
          told: false,
        });
        expect(row.idempotencyKey).not.toBe("");
        expect(await store.getApproval(row.id)).toStrictEqual(row);
        expect(store.now()).toBe(start);
      });

      test("a row created as approved may start from its creation on", async () => {
        const { row } = await openRow({ state: "approved", external: true, gated: false });
        expect(await row()).toMatchObject({ state: "approved", startBy: start + startMs, gated: false });
        expect(await row()).not.toHaveProperty("decidedAt");
      });

      test("a row keeps the mode of its call, whatever becomes of it", async () => {
        for (const mode of ["request", "live"] as const) {
          const { store, row, id } = await openRow({ mode }, approve, claim, succeed(1));
          await store.markTold(id);
          expect(await row()).toMatchObject({ mode, state: "succeeded", told: true });
          expect(await store.listApprovals({})).toMatchObject([{ mode }]);
        }
      });

      test("a span that is no number is refused, and one without end never passes", async () => {
        const { store, chat } = await openChat();
        await refusedWith("invalid", store.createApproval(newApproval(chat, "a", { ttlMs: Number.NaN })));
        await refusedWith("invalid", store.createApproval(newApproval(chat, "a", { startMs: -1 })));
        expect(await store.listApprovals({})).toEqual([]);
        const { id } = await store.createApproval(newApproval(chat, "a", { ttlMs: Infinity, startMs: Infinity }));
        clock.at += 1e12;
        expect((await store.move(id, approve)).moved).toBe(true);
        clock.at += 1e12;
        expect((await store.move(id, claim)).moved).toBe(true);
      });

      test("P1: the same call again returns the row that is there, unchanged and without another audit entry", async () => {
        const { store, chat, id, row } = await openRow({}, approve);
        const before = await row();
        const again = newApproval(chat, "call", { id: "another id", input: "{}", digest: "another" });
        expect(await store.createApproval(again, { maxPending: 0 })).toEqual(before);
        expect(await store.getApproval("another id")).toBeUndefined();
        expect((await store.audit(chat.id)).map(({ approvalId }) => approvalId)).toEqual([id, id]);
      });

      test("P1: of twenty creations for one call at once there is one row", async () => {
        const { store, chat } = await openChat();
        const rows = await Promise.all(
          Array.from({ length: 20 }, (_, n) => store.createApproval(newApproval(chat, "call", { id: `id-${n}` }))),
        );
        expect(new Set(rows.map(({ id }) => id)).size).toBe(1);
        expect(await store.listApprovals({})).toHaveLength(1);
      });

      test("the same call id in two sessions is two calls", async () => {
        const { store, chat } = await openChat();
        await store.openSession({ id: "inner", chat: chat.id, appName: "tool" });
        await store.createApproval(newApproval(chat, "call"));
        await store.createApproval(newApproval(chat, "call", { id: "other", session: "inner" }));
        expect(await store.listApprovals({ chat: chat.id })).toHaveLength(2);
      });

      test("refuses a row whose session is unknown, of another chat or of another owner, and an id that is taken", async () => {
        const { store, chat } = await openChat();
        const other = await store.openChat({ owner: "bob", name: "other", appName: "app" });
        const { id } = await store.createApproval(newApproval(chat, "call"));
        await refusedWith("not_found", store.createApproval(newApproval(chat, "a", { session: "unknown" })));
        await refusedWith("not_found", store.createApproval(newApproval(chat, "a", { session: other.id })));
        await refusedWith("not_found", store.createApproval(newApproval(chat, "a", { owner: "bob" })));
        await refusedWith("conflict", store.createApproval(newApproval(chat, "another call", { id })));
        expect(await store.listApprovals({})).toHaveLength(1);
        expect(await store.audit(chat.id)).toHaveLength(1);
        expect(await store.audit(other.id)).toEqual([]);
      });

      test("A17, I19: refuses a further pending row past the limit of its chat, and counts only what still waits", async () => {
        const { store, chat } = await openChat();
        const other = await store.openChat({ owner: "alice", name: "other", appName: "app" });
        const limits = { maxPending: 2 };
        const first = await store.createApproval(newApproval(chat, "one"), limits);
        await store.createApproval(newApproval(chat, "two"), limits);
        await refusedWith("too_many", store.createApproval(newApproval(chat, "three"), limits));
        expect(await store.audit(chat.id)).toHaveLength(2);
        await store.createApproval(newApproval(other, "three"), limits);
        await store.createApproval(newApproval(chat, "external", { state: "approved", external: true }), limits);
        await store.move(first.id, deny);
        await store.createApproval(newApproval(chat, "three"), limits);
        await refusedWith("too_many", store.createApproval(newApproval(chat, "four"), limits));
      });

      test("X24: refuses a further call of any kind past the limits of its chat, of its owner and of all", async () => {
        const { store, chat } = await openChat();
        const other = await store.openChat({ owner: "alice", name: "other", appName: "app" });
        const foreign = await store.openChat({ owner: "bob", name: "foreign", appName: "app" });
        const limits = { maxWaiting: 3, maxWaitingOfOwner: 4, maxWaitingInAll: 5 };
        const add = (of: Session, call: string, fields?: Partial<NewApproval>) =>
          store.createApproval(newApproval(of, call, fields), limits);
        const asked = await add(chat, "asked");
        await add(chat, "approved", { state: "approved" });
        await add(chat, "begun", { state: "waiting", external: true, reportMs: 1000 });
        await refusedWith("too_many", add(chat, "fourth", { state: "waiting", external: true, reportMs: 1000 }));
        await refusedWith("too_many", add(chat, "fourth"));
        expect(await add(chat, "asked")).toEqual(asked);
        await add(other, "one");
        await refusedWith("too_many", add(other, "two"));
        await add(foreign, "one");
        await refusedWith("unavailable", add(foreign, "two"));
        await store.move(asked.id, approve);
        await refusedWith("too_many", add(chat, "fourth"));
        await store.move(asked.id, claim);
        await refusedWith("too_many", add(chat, "fourth"));
        await store.move(asked.id, succeed(1));
        await add(chat, "fourth");
        await refusedWith("unavailable", add(foreign, "two"));
        await store.deleteSession(chat.id);
        await add(foreign, "two");
        await add(other, "two");
      });

      test("lists rows oldest first, filtered by chat, session, owner and state", async () => {
        const { store, chat } = await openChat();
        const other = await store.openChat({ owner: "bob", name: "other", appName: "app" });
        await store.openSession({ id: "inner", chat: chat.id, appName: "tool" });
        for (const call of ["z", "m", "a"]) await store.createApproval(newApproval(chat, call));
        await store.createApproval(newApproval(chat, "deep", { session: "inner" }));
        await store.createApproval(newApproval(other, "foreign"));
        await store.move(`${chat.id}-m`, deny);
        const list = async (filter: Parameters<Store["listApprovals"]>[0]) =>
          (await store.listApprovals(filter)).map(({ toolCallId }) => toolCallId);
        expect(await list({})).toEqual(["z", "m", "a", "deep", "foreign"]);
        expect(await list({ chat: chat.id })).toEqual(["z", "m", "a", "deep"]);
        expect(await list({ session: chat.id })).toEqual(["z", "m", "a"]);
        expect(await list({ owner: "bob" })).toEqual(["foreign"]);
        expect(await list({ state: "denied" })).toEqual(["m"]);
        expect(await list({ chat: chat.id, state: "pending", owner: "alice", session: "inner" })).toEqual(["deep"]);
        expect(await list({ owner: "carol" })).toEqual([]);
        expect(await list({ state: "pending" })).toEqual(["z", "a", "deep", "foreign"]);
        expect(await list({ state: "pending", newest: 2 })).toEqual(["deep", "foreign"]);
        expect(await list({ chat: chat.id, newest: 3 })).toEqual(["m", "a", "deep"]);
        expect(await list({ newest: 9 })).toHaveLength(5);
        expect(await list({ newest: 0 })).toEqual([]);
      });

      test("finds a row by its idempotency key, which is its id unless it brings its own", async () => {
        const { store, chat } = await openChat();
        const plain = await store.createApproval(newApproval(chat, "plain"));
        const keyed = await store.createApproval(newApproval(chat, "keyed", { idempotencyKey: "key:1" }));
        expect(plain.idempotencyKey).toBe(plain.id);
        expect(await store.listApprovals({ idempotencyKey: plain.id })).toEqual([plain]);
        expect(await store.listApprovals({ idempotencyKey: "key:1", owner: chat.owner })).toEqual([keyed]);
        expect(await store.listApprovals({ idempotencyKey: "key:1", owner: "bob" })).toEqual([]);
      });

      test("approve records who, when, why and with which key, and starts the time in which it may start", async () => {
        const { move } = await openRow({});
        clock.at += 100;
        const result = await move({ event: "approve", by: "alice", reason: "fine", key: "key" });
        expect(result).toMatchObject({
          moved: true,
          approval: {
            state: "approved",
            decidedAt: start + 100,
            decidedBy: "alice",
            decisionKey: "key",
            reason: "fine",
            startBy: start + 100 + startMs,
          },
        });
        expect(result.approval).not.toHaveProperty("finishedAt");
      });

      test("deny settles the row", async () => {
        const { move } = await openRow({});
        const { approval } = await move({ event: "deny", by: "alice", reason: "too much" });
        expect(approval).toMatchObject({
          state: "denied",
          decidedBy: "alice",
          decidedAt: start,
          finishedAt: start,
          reason: "too much",
        });
        expect(approval).not.toHaveProperty("startBy");
      });

      test("A9, I2: of approve and deny at once one wins, and the loser sees the winner's decision", async () => {
        const { store, chat, row, move } = await openRow({});
        const results = await Promise.all(
          Array.from({ length: 20 }, (_, n) =>
            move({ event: n % 2 ? "approve" : "deny", by: `person ${n}`, key: `key ${n}` }),
          ),
        );
        const final = await row();
        expect(results.filter(({ moved }) => moved)).toHaveLength(1);
        expect(results.find(({ moved }) => moved)?.approval).toEqual(final);
        for (const { approval } of results) expect(approval?.decisionKey).toBe(final.decisionKey);
        expect(await store.audit(chat.id)).toHaveLength(2);
      });

      test("A3, A8: no answer moves a row that has one", async () => {
        for (const first of [approve, deny]) {
          const { row, move } = await openRow({}, first);
          const before = await row();
          for (const second of [approve, deny]) {
            expect(await move({ ...second, by: "bob", key: "late" } as Change)).toEqual({
              moved: false,
              approval: before,
            });
          }
          expect(await row()).toEqual(before);
        }
      });

      test.each([approve, deny])("A8: $event at the moment of expiry expires the row instead", async (decision) => {
        const { store, chat, row, move } = await openRow({});
        clock.at = start + ttlMs;
        const result = await move(decision);
        expect(result).toMatchObject({ moved: false, approval: { state: "expired", finishedAt: start + ttlMs } });
        expect(result.approval).not.toHaveProperty("decidedBy");
        expect(await row()).toEqual(result.approval);
        expect((await store.audit(chat.id)).map(({ event }) => event)).toEqual(["create", "expire"]);
      });

      test("a decision one moment before expiry holds", async () => {
        const { move } = await openRow({});
        clock.at = start + ttlMs - 1;
        expect((await move(approve)).moved).toBe(true);
      });

      test("I3: a claim when the time to start has passed expires the row instead", async () => {
        const { store, chat, row, move } = await openRow({}, approve);
        clock.at = start + startMs;
        expect(await move(claim)).toMatchObject({ moved: false, approval: { state: "expired", fence: 0 } });
        expect((await row()).decidedBy).toBe("alice");
        expect((await store.audit(chat.id)).map(({ event }) => event)).toEqual(["create", "approve", "expire"]);
      });

      test("expire needs the time to have passed", async () => {
        const pending = await openRow({});
        clock.at = start + ttlMs - 1;
        expect(await pending.move({ event: "expire" })).toMatchObject({ moved: false, approval: { state: "pending" } });
        clock.at = start + ttlMs;
        expect(await pending.move({ event: "expire" })).toMatchObject({ moved: true, approval: { state: "expired" } });

        const approved = await openRow({}, approve);
        clock.at = start + startMs - 1;
        expect(await approved.move({ event: "expire" })).toMatchObject({
          moved: false,
          approval: { state: "approved" },
        });
        clock.at = start + startMs;
        expect(await approved.move({ event: "expire" })).toMatchObject({ moved: true, approval: { state: "expired" } });
      });

      test("cancel settles a pending or approved row and says why", async () => {
        const pending = await openRow({});
        expect(await pending.move({ event: "cancel", reason: "the user went on" })).toMatchObject({
          moved: true,
          approval: { state: "cancelled", reason: "the user went on", finishedAt: start },
        });
        const approved = await openRow({}, { ...approve, reason: "fine" } as Change);
        expect(await approved.move({ event: "cancel" })).toMatchObject({
          moved: true,
          approval: { state: "cancelled", reason: "fine", decidedBy: "alice" },
        });
      });

      test("cancel leaves an approved row as it is, if the caller says so, until its time is over", async () => {
        const cancel = { event: "cancel", unlessApproved: true } as const;
        const pending = await openRow({});
        expect(await pending.move(cancel)).toMatchObject({ moved: true, approval: { state: "cancelled" } });
        const approved = await openRow({}, approve);
        const left = await approved.move(cancel);
        expect(left).toMatchObject({ moved: false, approval: { state: "approved" } });
        expect(left.applied).toBeUndefined();
        clock.at = start + startMs;
        expect(await approved.move(cancel)).toMatchObject({ applied: "expire", approval: { state: "expired" } });
      });

      test("X32: a row that is past its time expires, whatever change finds it", async () => {
        const changes: Change[] = [
          ...[approve, deny, claim, reclaim, succeed(), fail(0)],
          ...([{ event: "cancel", reason: "the user went on" }, { event: "lose" }] as const),
        ];
        for (const change of changes) {
          const pending = await openRow({});
          clock.at = start + ttlMs;
          const late = await pending.move(change);
          expect(late).toMatchObject({
            moved: false,
            applied: "expire",
            approval: { state: "expired", finishedAt: start + ttlMs },
          });
          expect(late.approval).not.toHaveProperty("reason");
          expect(await pending.row()).toEqual(late.approval);
          const audit = await pending.store.audit(pending.chat.id);
          expect(audit.map(({ event, state }) => [event, state])).toEqual([
            ["create", "pending"],
            ["expire", "expired"],
          ]);
          // The second time the row is over already.
          expect(await pending.move(change)).toEqual({ moved: false, approval: late.approval });
          expect(await pending.store.audit(pending.chat.id)).toEqual(audit);

          const approved = await openRow({}, { ...approve, reason: "fine" } as Change);
          clock.at = start + startMs;
          expect(await approved.move(change)).toMatchObject({
            moved: false,
            applied: "expire",
            approval: { state: "expired", reason: "fine", decidedBy: "alice", fence: 0 },
          });
        }
      });

      test("says which event was applied: the caller's own, or none", async () => {
        const { move } = await openRow({});
        expect(await move(approve)).toMatchObject({ moved: true, applied: "approve" });
        expect((await move(deny)).applied).toBeUndefined();
        expect(await move({ event: "cancel" })).toMatchObject({ moved: true, applied: "cancel" });
      });

      test("claim raises the fence and holds the row for a while; one of many claimers gets it", async () => {
        const { row } = await openRow({}, approve, claim);
        expect(await row()).toMatchObject({
          state: "executing",
          fence: 1,
          leaseOwner: "worker",
          leaseUntil: start + leaseMs,
        });

        const race = await openRow({}, approve);
        const results = await Promise.all(
          Array.from({ length: 20 }, (_, n) => race.move({ event: "claim", leaseOwner: `worker ${n}`, leaseMs })),
        );
        expect(results.filter(({ moved }) => moved)).toHaveLength(1);
        expect(await race.row()).toMatchObject({ fence: 1 });
        expect(results.find(({ moved }) => moved)?.approval).toEqual(await race.row());
      });

      test("reclaim and lose need a lapsed lease", async () => {
        for (const change of [reclaim, { event: "lose" }] as const) {
          const { row, move } = await openRow({}, approve, claim);
          const before = await row();
          clock.at = start + leaseMs - 1;
          expect(await move(change)).toEqual({ moved: false, approval: before });
          clock.at = start + leaseMs;
          expect((await move(change)).moved).toBe(true);
        }
      });

      test("I6, I14: reclaiming raises the fence and keeps the idempotency key", async () => {
        const { row, move } = await openRow({}, approve, claim);
        const { idempotencyKey } = await row();
        clock.at = start + leaseMs;
        expect((await move(reclaim)).approval).toMatchObject({
          state: "executing",
          fence: 2,
          leaseOwner: "other worker",
          leaseUntil: start + 2 * leaseMs,
          idempotencyKey,
        });
      });

      test("I14: a write with an old fence, or with none while it runs, never lands", async () => {
        const { row, move } = await openRow({}, approve, claim);
        clock.at = start + leaseMs;
        await move(reclaim);
        const before = await row();
        for (const change of [succeed(1), fail(1), succeed(3), succeed(), fail()]) {
          expect(await move(change)).toEqual({ moved: false, approval: before });
        }
        expect((await move(succeed(2))).moved).toBe(true);
      });

      test("finishing records the outcome and lets go of the lease", async () => {
        const done = await openRow({}, approve, claim);
        clock.at += 5;
        const { approval } = await done.move({ ...succeed(1), stateDelta: { balance: 950 } } as Change);
        expect(approval).toMatchObject({
          state: "succeeded",
          outcome: { paid: 50 },
          stateDelta: { balance: 950 },
          finishedAt: start + 5,
          fence: 1,
        });
        expect(approval).not.toHaveProperty("leaseOwner");
        expect(approval).not.toHaveProperty("leaseUntil");
        const failed = await openRow({}, approve, claim, fail(1));
        expect(await failed.row()).toMatchObject({ state: "failed", outcome: { error: "no money" } });
      });

      test("an attempt whose lease lapsed may still finish if no other attempt took over", async () => {
        const { move } = await openRow({}, approve, claim);
        clock.at = start + 10 * leaseMs;
        expect((await move(succeed(1))).moved).toBe(true);
      });

      test("an indeterminate row is resolved by a person, or by the attempt that comes back", async () => {
        const lost = async () => {
          const running = await openRow({}, approve, claim);
          clock.at = start + leaseMs;
          expect(await running.move({ event: "lose" })).toMatchObject({
            moved: true,
            approval: { state: "indeterminate", fence: 1, finishedAt: start + leaseMs },
          });
          return running;
        };
        expect((await (await lost()).move({ ...succeed(), by: "alice" } as Change)).approval).toMatchObject({
          ...{ state: "succeeded", resolvedBy: "alice", told: false },
        });
        expect((await (await lost()).move({ ...fail(), by: "alice" } as Change)).approval?.state).toBe("failed");
        expect((await (await lost()).move(succeed())).approval?.state).toBe("indeterminate");
        expect((await (await lost()).move(succeed(1))).approval?.state).toBe("succeeded");
        expect((await (await lost()).move(succeed(2))).approval?.state).toBe("indeterminate");
      });

      test("I1, I11: a change that is not legal changes nothing and leaves no trace", async () => {
        const ways: Record<string, Change[]> = {
          pending: [],
          approved: [approve],
          executing: [approve, claim],
          succeeded: [approve, claim, succeed(1)],
          failed: [approve, claim, fail(1)],
          denied: [deny],
          cancelled: [{ event: "cancel" }],
        };
        const illegal: Record<string, Change[]> = {
          pending: [claim, reclaim, succeed(0), fail(0), succeed(), { event: "lose" }],
          approved: [approve, deny, reclaim, succeed(0), fail(0), succeed(), { event: "lose" }],
          executing: [approve, deny, { event: "expire" }, { event: "cancel" }, claim],
        };
        const everything: Change[] = [
          ...[approve, deny, claim, reclaim, succeed(), succeed(1), fail(), fail(1)],
          ...([{ event: "expire" }, { event: "cancel" }, { event: "lose" }] as const),
        ];
        for (const [state, changes] of Object.entries(ways)) {
          const { store, chat, row, move } = await openRow({}, ...changes);
          const before = await row();
          const audit = await store.audit(chat.id);
          expect(before.state).toBe(state);
          if (!illegal[state]) clock.at = start + 100 * ttlMs;
          for (const change of illegal[state] ?? everything) {
            expect(await move(change)).toEqual({ moved: false, approval: before });
          }
          expect(await row()).toEqual(before);
          expect(await store.audit(chat.id)).toEqual(audit);
        }
      });

      test("A1: a change of an unknown row changes nothing", async () => {
        const { store, chat } = await openRow({});
        expect(await store.move("unknown", approve)).toEqual({ moved: false, approval: undefined });
        expect(await store.renewLease("unknown", 1, leaseMs)).toBe(false);
        expect(await store.markTold("unknown")).toBe(false);
        expect(await store.audit(chat.id)).toHaveLength(1);
      });

      test("renews the lease of the attempt that holds the fence, and of no other", async () => {
        const { store, id, row, move } = await openRow({}, approve, claim);
        clock.at = start + 1000;
        expect(await store.renewLease(id, 1, leaseMs)).toBe(true);
        expect(await row()).toMatchObject({ leaseUntil: start + 1000 + leaseMs, leaseOwner: "worker", fence: 1 });
        expect(await store.renewLease(id, 0, leaseMs)).toBe(false);
        clock.at = start + 1000 + leaseMs;
        await move(reclaim);
        expect(await store.renewLease(id, 1, leaseMs)).toBe(false);
        expect(await store.renewLease(id, 2, leaseMs)).toBe(true);
        await move(succeed(2));
        expect(await store.renewLease(id, 2, leaseMs)).toBe(false);
        expect(await row()).not.toHaveProperty("leaseUntil");
      });

      test("I10: an outcome is told once, and only when there is one", async () => {
        const { store, chat, id, row, move } = await openRow({}, approve, claim);
        expect(await store.markTold(id)).toBe(false);
        await move(succeed(1));
        const results = await Promise.all(Array.from({ length: 20 }, () => store.markTold(id)));
        expect(results.filter(Boolean)).toHaveLength(1);
        expect((await row()).told).toBe(true);
        expect(await store.audit(chat.id)).toHaveLength(4);
      });

      test("I10: a row is not marked as told if it has another state than the one that was told", async () => {
        const { store, id, row, move } = await openRow({}, approve, claim);
        clock.at = start + leaseMs;
        await move({ event: "lose" });
        await move({ ...succeed(), by: "alice" } as Change);
        expect(await store.markTold(id, "indeterminate")).toBe(false);
        expect((await row()).told).toBe(false);
        expect(await store.markTold(id, "succeeded")).toBe(true);
      });

      test("I10: what was told as unknown is told once more when it becomes known", async () => {
        const { store, id, move } = await openRow({}, approve, claim);
        clock.at = start + leaseMs;
        await move({ event: "lose" });
        expect(await store.markTold(id, "indeterminate")).toBe(true);
        expect(await store.dueApprovals()).toEqual([]);
        await move({ ...succeed(), by: "alice" } as Change);
        expect(await store.markTold(id, "succeeded")).toBe(true);
        expect(await store.markTold(id, "succeeded")).toBe(false);
        expect(await store.dueApprovals()).toEqual([]);
      });
    });

    describe("what is due", () => {
      test("a pending row is due when it has expired", async () => {
        const { store, id } = await openRow({});
        expect(await store.dueApprovals()).toEqual([]);
        clock.at = start + ttlMs;
        expect((await store.dueApprovals()).map((row) => row.id)).toEqual([id]);
      });

      test("an approved call is due at once, an approved agent when its time has passed", async () => {
        const server = await openRow({}, approve);
        expect(await server.store.dueApprovals()).toHaveLength(1);
        const agent = await openRow({ external: true, innerSession: "inner" }, approve);
        expect(await agent.store.dueApprovals()).toEqual([]);
        clock.at = start + startMs;
        expect(await agent.store.dueApprovals()).toHaveLength(1);
      });

      test("a waiting row is due when the time for its report is over, and then its outcome is not known", async () => {
        const { store, move, row } = await openRow({ reportMs: 50 }, approve, claim, {
          ...{ event: "begin", fence: 1, interim: { job: 7 } },
        });
        expect(await row()).toMatchObject({ state: "waiting", reportBy: start + 50, interim: { job: 7 } });
        clock.at = start + 49;
        expect(await store.dueApprovals()).toEqual([]);
        clock.at = start + 50;
        expect(await store.dueApprovals()).toHaveLength(1);
        expect(await move(succeed())).toMatchObject({
          moved: false,
          applied: "lose",
          approval: { state: "indeterminate" },
        });
        expect((await store.audit((await row()).chat)).at(-1)).toMatchObject({ event: "lose", state: "indeterminate" });
      });

      test("a waiting row takes one report, and no cancellation", async () => {
        const { move } = await openRow({ reportMs: 50, external: true, gated: false, state: "waiting" });
        expect(await move({ event: "cancel" })).toMatchObject({ moved: false, approval: { state: "waiting" } });
        expect(await move(succeed())).toMatchObject({ moved: true, approval: { state: "succeeded" } });
        expect(await move(fail())).toMatchObject({ moved: false, approval: { state: "succeeded" } });
      });

      test("an executing row is due when its lease has lapsed, later after a renewal", async () => {
        const { store, id } = await openRow({}, approve, claim);
        clock.at = start + 1;
        await store.renewLease(id, 1, leaseMs);
        clock.at = start + leaseMs;
        expect(await store.dueApprovals()).toEqual([]);
        clock.at = start + 1 + leaseMs;
        expect(await store.dueApprovals()).toHaveLength(1);
      });

      test("I9: a settled row is due until it was told, however it was settled", async () => {
        const lost: Change[] = [approve, { ...claim, leaseMs: 0 } as Change, { event: "lose" }];
        const ways: Change[][] = [
          [deny],
          [{ event: "cancel" }],
          [approve, claim, succeed(1)],
          [approve, claim, fail(1)],
          lost,
        ];
        for (const changes of ways) {
          const { store, id } = await openRow({}, ...changes);
          expect((await store.dueApprovals()).map((row) => row.id)).toEqual([id]);
          await store.markTold(id);
          expect(await store.dueApprovals()).toEqual([]);
        }
      });

      test("X17: a settled row is not due once the log shows its outcome, however it was settled", async () => {
        for (const changes of [[deny], [{ event: "cancel" }], [approve, claim, succeed(1)]] as Change[][]) {
          const { store, id, row } = await openRow({}, ...changes);
          expect(await store.dueApprovals()).toHaveLength(1);
          expect(await store.markShown(id)).toBe(true);
          expect(await store.markShown(id)).toBe(false);
          expect(await store.dueApprovals()).toEqual([]);
          expect(await row()).toMatchObject({ shown: true, told: false });
          expect(await store.markTold(id)).toBe(true);
        }
      });

      test("X17: only a settled row can be marked as shown, and a row that is resolved has to be shown again", async () => {
        const { store, id, row, move } = await openRow({}, approve, claim);
        expect(await store.markShown(id)).toBe(false);
        expect(await store.markShown("unknown")).toBe(false);
        clock.at = start + leaseMs;
        await move({ event: "lose" });
        await store.markShown(id);
        await store.markTold(id);
        expect(await store.dueApprovals()).toEqual([]);
        await move({ event: "succeed", outcome: { paid: 1 }, by: "alice" });
        expect(await row()).toMatchObject({ state: "succeeded", told: false });
        expect((await row()).shown).toBeUndefined();
        expect((await store.dueApprovals()).map((due) => due.id)).toEqual([id]);
      });

      test("X17: comes in batches, oldest first, each after the last row of the one before", async () => {
        const { store, chat } = await openChat();
        const names = Array.from({ length: 450 }, (_, index) => `call-${index}`);
        for (const call of names) await store.createApproval(newApproval(chat, call));
        clock.at = start + ttlMs;
        const calls = (rows: Approval[]) => rows.map(({ toolCallId }) => toolCallId);
        const first = await store.dueApprovals();
        expect(calls(first)).toEqual(names.slice(0, 200));
        expect(calls(await store.dueApprovals({ limit: 3 }))).toEqual(names.slice(0, 3));
        const second = await store.dueApprovals({ after: first.at(-1)?.id });
        const third = await store.dueApprovals({ after: second.at(-1)?.id });
        expect([...calls(second), ...calls(third)]).toEqual(names.slice(200));
        expect(await store.dueApprovals({ after: third.at(-1)?.id })).toEqual([]);
        expect(await store.dueApprovals({ after: "gone" })).toEqual([]);
      });

      test("X17: can leave out settled rows, which only have to be shown", async () => {
        const { store, chat } = await openChat();
        for (const call of ["denied", "expired", "later"])
          await store.createApproval(newApproval(chat, call, { ttlMs: call === "later" ? 10 * ttlMs : ttlMs }));
        await store.move(`${chat.id}-denied`, deny);
        clock.at = start + ttlMs;
        expect((await store.dueApprovals({ unsettled: true })).map(({ toolCallId }) => toolCallId)).toEqual([
          "expired",
        ]);
        expect(await store.dueApprovals()).toHaveLength(2);
      });

      test("lists due rows oldest first, whatever their deadlines", async () => {
        const { store, chat } = await openChat();
        await store.createApproval(newApproval(chat, "late", { ttlMs: 500 }));
        await store.createApproval(newApproval(chat, "early", { ttlMs: 300 }));
        await store.createApproval(newApproval(chat, "latest", { ttlMs: 900 }));
        clock.at = start + 600;
        expect((await store.dueApprovals()).map(({ toolCallId }) => toolCallId)).toEqual(["late", "early"]);
      });
    });

    describe("the audit", () => {
      const history = async () => {
        const { store, chat, id, move } = await openRow({}, { ...approve, key: "key", reason: "花子" } as Change);
        clock.at += 10;
        await move(claim);
        await store.createApproval(newApproval(chat, "second"));
        await move(approve);
        await move(succeed(1));
        await store.move(`${chat.id}-second`, { event: "cancel" });
        return { store, chat, id, entries: await store.audit(chat.id) };
      };

      test("says whose message a call comes from", async () => {
        const { store, chat } = await openChat();
        await store.createApproval(newApproval(chat, "call", { requestedBy: "ann" }));
        expect(await store.listApprovals({})).toMatchObject([{ requestedBy: "ann" }]);
        expect(await store.audit(chat.id)).toMatchObject([{ event: "create", by: "ann" }]);
        expect(verifyAudit(await store.audit(chat.id))).toBeUndefined();
      });

      test("I16: holds every change of a chat in order, with who, when and the digest", async () => {
        const { chat, id, entries } = await history();
        const second = `${chat.id}-second`;
        const rest = { hash: expect.stringMatching(/^[0-9a-f]{64}$/) };
        const digest = "digest of call";
        expect(entries).toEqual([
          { sequence: 1, at: start, approvalId: id, event: "create", state: "pending", digest, ...rest },
          { sequence: 2, at: start, approvalId: id, event: "approve", state: "approved", by: "alice", digest, ...rest },
          {
            sequence: 3,
            at: start + 10,
            approvalId: id,
            event: "claim",
            state: "executing",
            by: "worker",
            digest,
            ...rest,
          },
          {
            sequence: 4,
            at: start + 10,
            approvalId: second,
            event: "create",
            state: "pending",
            digest: "digest of second",
            ...rest,
          },
          { sequence: 5, at: start + 10, approvalId: id, event: "succeed", state: "succeeded", digest, ...rest },
          {
            sequence: 6,
            at: start + 10,
            approvalId: second,
            event: "cancel",
            state: "cancelled",
            digest: "digest of second",
            ...rest,
          },
        ]);
        expect(verifyAudit(entries)).toBeUndefined();
      });

      test("A30: carries neither arguments nor outcomes nor reasons", async () => {
        const { entries } = await history();
        expect(JSON.stringify(entries)).not.toMatch(/花子|amount|paid/);
      });

      test("A35: edited, deleted, inserted and swapped entries are found where they are", async () => {
        const { entries } = await history();
        const [first, second, third, ...others] = entries as [
          (typeof entries)[0],
          (typeof entries)[0],
          (typeof entries)[0],
        ];
        const edits = { at: 1, approvalId: "x", event: "deny", state: "denied", by: "mallory", digest: "x", hash: "0" };
        for (const [field, value] of Object.entries(edits)) {
          expect(verifyAudit([first, { ...second, [field]: value }, third, ...others])).toBe(2);
        }
        const { by: _by, ...anonymous } = second;
        expect(verifyAudit([first, anonymous, third])).toBe(2);
        expect(verifyAudit([first, third, ...others])).toBe(2);
        expect(verifyAudit([second, third, ...others])).toBe(1);
        expect(verifyAudit([first, third, second, ...others])).toBe(2);
        expect(verifyAudit([first, second, second, third, ...others])).toBe(3);
        expect(verifyAudit([])).toBeUndefined();
      });

      test("keeps one chain per chat", async () => {
        const { store, chat } = await openChat();
        const other = await store.openChat({ owner: "alice", name: "other", appName: "app" });
        for (const call of ["a", "b"]) {
          for (const each of [chat, other]) await store.createApproval(newApproval(each, call));
        }
        for (const each of [chat, other]) {
          const entries = await store.audit(each.id);
          expect(entries.map(({ sequence }) => sequence)).toEqual([1, 2]);
          expect(verifyAudit(entries)).toBeUndefined();
        }
        expect(await store.audit("unknown")).toEqual([]);
      });
    });

    test("closes twice without complaint", async () => {
      const store = await openStore();
      opened.splice(0);
      await expect(store.close()).resolves.toBeUndefined();
      await expect(store.close()).resolves.toBeUndefined();
    });
  });
}

/** What a store must do besides when its data outlives it. */
export function durableStoreContract(
  name: string,
  open: (options: { now: () => number }) => Required<OpenedStore> | Promise<Required<OpenedStore>>,
): void {
  const clock = { at: start };
  const openStore = async () => {
    clock.at = start;
    const { store, reopen } = await open({ now: () => clock.at });
    return { store: holdingChats(store), reopen };
  };

  describe(`${name}: opened again`, () => {
    test("I8: keeps sessions, events, log, open turns, approvals and audit", async () => {
      const { store, reopen } = await openStore();
      const chat = await store.openChat({ owner: "alice", name: "first", appName: "app" });
      await store.openSession({ id: "inner", chat: chat.id, appName: "tool", state: { a: 1 } });
      await store.appendEvent(chat.id, { id: "a", event: { n: 1 }, responses: ["call"], stateDelta: { b: "花子" } });
      await store.appendEvent(chat.id, { id: "b", event: { n: 2 }, responses: ["taken back"] });
      await store.withdrawEvents(chat.id, 2);
      await store.append(chat.id, [begin("turn"), chunk("a")]);
      await store.append(chat.id, [chunk("b")]);
      for (const call of ["pending", "approved", "done"]) await store.createApproval(newApproval(chat, call));
      for (const call of ["approved", "done"])
        await store.move(`${chat.id}-${call}`, { ...approve, key: "key" } as Change);
      await store.move(`${chat.id}-done`, claim);
      await store.move(`${chat.id}-done`, succeed(1));
      await store.markTold(`${chat.id}-done`);
      const everything = async (each: Store) => ({
        chat: await each.findChat("alice", "first", "app"),
        inner: await each.getSession("inner"),
        events: await each.events(chat.id),
        log: await each.read(chat.id),
        turns: await each.openTurns(),
        approvals: await each.listApprovals({}),
        due: await each.dueApprovals(),
        audit: await each.audit(chat.id),
      });
      const before = await everything(store);
      expect(before).toMatchObject({
        events: [{ position: 1 }],
        turns: [{ turn: "turn" }],
        due: [{ toolCallId: "approved" }],
      });

      const again = await reopen();
      expect(await everything(again)).toEqual(before);
      await again.holdChat(chat.id, leaseMs);
      expect((await again.append(chat.id, [chunk("c")]))[0]?.sequence).toBe(4);
      expect((await again.appendEvent(chat.id, { id: "c", event: {}, responses: ["taken back"] })).position).toBe(3);
      const answered = again.appendEvent(chat.id, { id: "d", event: {}, responses: ["call"] });
      expect(await thrown(answered)).toBeInstanceOf(AlreadyResponded);
      expect((await again.move(`${chat.id}-approved`, deny)).moved).toBe(false);
      expect(verifyAudit(await again.audit(chat.id))).toBeUndefined();
      await again.close();
    });

    test("P7: a row whose process is gone is due at once, and its old attempt can still be told apart", async () => {
      const { store, reopen } = await openStore();
      const chat = await store.openChat({ owner: "alice", name: "first", appName: "app" });
      const { id } = await store.createApproval(newApproval(chat, "call"));
      await store.move(id, approve);
      await store.move(id, claim);
      expect(await store.dueApprovals()).toEqual([]);

      const again = await reopen();
      expect((await again.dueApprovals()).map((row) => row.id)).toEqual([id]);
      expect((await again.move(id, reclaim)).approval).toMatchObject({ fence: 2, leaseOwner: "other worker" });
      expect((await again.move(id, succeed(1))).moved).toBe(false);
      expect((await again.move(id, succeed(2))).moved).toBe(true);
      await again.close();
    });
  });
}
