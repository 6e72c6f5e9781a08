/** Which node has which chat. One node is a store for one process; with PostgreSQL there are several on one database. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { type NewLogEntry, NotOwner, type Session, type Store } from "../../src/stores/index.ts";
import type { LogNews } from "../../src/stores/log-store.ts";
import { memoryStore } from "../../src/stores/memory.ts";
import { postgresStore } from "../../src/stores/postgres.ts";
import { sqliteStore } from "../../src/stores/sqlite.ts";
import { type TestDatabase, testDatabase } from "../fixtures/postgres.ts";
import { newApproval } from "./store.ts";

const folder = mkdtempSync(join(tmpdir(), "lease-store-"));
const start = 1_700_000_000_000;
const leaseMs = 10_000;
const clock = { at: start };
const opened: Store[] = [];
let database: TestDatabase;
let files = 0;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(async () => {
  await database.close();
  rmSync(folder, { recursive: true });
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
  clock.at = start;
});

const now = () => clock.at;
const keep = (store: Store): Store => {
  opened.push(store);
  return store;
};
const openChat = (store: Store, name = "first") => store.openChat({ owner: "alice", name, appName: "app" });
const chunk = (delta: string): NewLogEntry => ({
  ...{ turn: "turn", kind: "chunk" },
  chunk: { type: "text-delta", id: "t", delta },
});
const begin: NewLogEntry = { turn: "turn", kind: "begin", reply: "reply" };
const code = (work: Promise<unknown>) =>
  work.then(
    () => "nothing",
    (error: unknown) => (error instanceof NotOwner ? "NotOwner" : (error as { code?: string }).code),
  );

describe.each([
  { name: "memory", open: async () => memoryStore({ now }) },
  { name: "SQLite", open: async () => sqliteStore({ path: join(folder, `${(files += 1)}.db`), now }) },
  {
    name: "PostgreSQL",
    async open() {
      await database.empty();
      return postgresStore({ url: database.url, now });
    },
  },
])("one node with the $name store", ({ open }) => {
  test("has each chat from the first time it takes it until it gives it back", async () => {
    const store = keep(await open());
    const chat = await openChat(store);
    const first = await store.holdChat(chat.id, leaseMs);
    expect(first).toEqual({ node: store.node, fence: 1, until: expect.any(Number), isNew: true });
    expect(first.until).toBeGreaterThanOrEqual(start + leaseMs);
    const again = await store.holdChat(chat.id, leaseMs);
    expect(again).toEqual({ node: store.node, fence: 1, until: expect.any(Number) });
    expect(await store.renewChats(leaseMs)).toEqual([]);
    await store.releaseChats([chat.id, "unknown"]);
    expect(await store.holdChat(chat.id, leaseMs)).toMatchObject({ node: store.node, isNew: true });
  });

  test("cannot take what is no chat", async () => {
    const store = keep(await open());
    const chat = await openChat(store);
    await store.holdChat(chat.id, leaseMs);
    await store.openSession({ id: "inner", chat: chat.id, appName: "tool" });
    expect(await code(store.holdChat("unknown", leaseMs))).toBe("not_found");
    expect(await code(store.holdChat("inner", leaseMs))).toBe("not_found");
  });

  test("gets no requests, and sees no clients elsewhere", async () => {
    const store = keep(await open());
    const chat = await openChat(store);
    await store.holdChat(chat.id, leaseMs);
    expect(await store.takePosted()).toEqual([]);
    expect(await store.readAnswer("unknown")).toBeUndefined();
    expect(await store.takeBack("unknown")).toBe(false);
    await store.notePresence([chat.id], 1000);
    expect(await store.isPresentElsewhere(chat.id)).toBe(false);
  });
});

/** Stores on one empty database: each is a node. */
async function openNodes(count: number): Promise<Store[]> {
  await database.empty();
  // A limit for a database that hangs. Here it must not end a statement that waits for a test on a busy machine.
  const options = { url: database.url, now, connections: 3, timeoutMs: 25_000 };
  return Array.from({ length: count }, () => keep(postgresStore(options)));
}

async function openTwo(): Promise<{ one: Store; two: Store; chat: Session }> {
  const [one, two] = (await openNodes(2)) as [Store, Store];
  const chat = await openChat(one);
  await one.holdChat(chat.id, leaseMs);
  return { one, two, chat };
}

describe("nodes on one PostgreSQL database", () => {
  test("one has a chat, the others are told which one, until it lapses or is given back", async () => {
    const { one, two, chat } = await openTwo();
    expect(one.node).not.toBe(two.node);
    const lease = { node: one.node, fence: 1, until: start + leaseMs };
    expect(await two.holdChat(chat.id, leaseMs)).toEqual(lease);
    clock.at += leaseMs - 1;
    expect(await two.holdChat(chat.id, leaseMs)).toEqual(lease);
    clock.at += 1;
    expect(await two.holdChat(chat.id, leaseMs)).toEqual({
      ...{ node: two.node, fence: 2, until: start + 2 * leaseMs, isNew: true },
    });
    await two.releaseChats([chat.id]);
    expect(await one.holdChat(chat.id, leaseMs)).toMatchObject({ node: one.node, fence: 3, isNew: true });
  });

  test("of many that want a chat at once, one gets it", async () => {
    const nodes = await openNodes(3);
    const chat = await openChat(nodes[0] as Store);
    const leases = await Promise.all(nodes.map((node) => node.holdChat(chat.id, leaseMs)));
    expect(leases.filter(({ isNew }) => isNew)).toHaveLength(1);
    expect(new Set(leases.map(({ node, fence }) => `${node} ${fence}`)).size).toBe(1);
  });

  test("renewing keeps all chats of a node at once, and says which ones are lost", async () => {
    const { one, two, chat } = await openTwo();
    const chats = [chat, await openChat(one, "second"), await openChat(one, "third"), await openChat(one, "fourth")];
    for (const { id } of chats) await one.holdChat(id, leaseMs);
    clock.at += leaseMs - 1;
    expect(await one.renewChats(leaseMs)).toEqual([]);
    clock.at += leaseMs - 1;
    for (const { id } of chats) expect((await two.holdChat(id, leaseMs)).node).toBe(one.node);
    clock.at += 1;
    expect(await two.holdChat(chats[1]?.id ?? "", leaseMs)).toMatchObject({ isNew: true });
    await two.deleteSession(chats[2]?.id ?? "");
    await one.releaseChats([chats[3]?.id ?? ""]);
    expect(await one.renewChats(leaseMs)).toEqual([chats[1]?.id]);
    expect(await one.renewChats(leaseMs)).toEqual([]);
    expect((await two.holdChat(chat.id, leaseMs)).node).toBe(one.node);
  });

  test("a node that lost a chat can write nothing to it, whatever it tries, and decisions come from anywhere", async () => {
    const { one, two, chat } = await openTwo();
    await one.openSession({ id: "inner", chat: chat.id, appName: "tool" });
    await one.append(chat.id, [begin, chunk("a")]);
    await one.appendEvent(chat.id, { id: "e", event: {}, responses: [] });
    const { id } = await one.createApproval(newApproval(chat, "call"));
    const asked = await one.createApproval(newApproval(chat, "asked"));
    await one.move(id, { event: "deny", by: "alice" });
    clock.at += leaseMs;
    await two.holdChat(chat.id, leaseMs);
    const everything = async () => ({
      ...{ log: await two.read(chat.id), events: await two.events(chat.id), rows: await two.listApprovals({}) },
      ...{ inner: await two.events("inner"), session: await two.getSession(chat.id), turns: await two.openTurns() },
    });
    const before = await everything();
    const event = { id: "late", event: {}, responses: ["late"] };
    const put = { events: [], put: [event], closed: [id], moved: { rows: [id], messageId: "m" } };
    const writes: [string, () => Promise<unknown>][] = [
      ["append", () => one.append(chat.id, [chunk("b")])],
      ["append nothing", () => one.append(chat.id, [])],
      ["append an end", () => one.append(chat.id, [{ turn: "turn", kind: "end" }])],
      ["withdraw", () => one.append(chat.id, [{ turn: "x", kind: "withdraw", from: 1 }], put)],
      ["appendEvent", () => one.appendEvent(chat.id, event)],
      ["appendEvent with state", () => one.appendEvent(chat.id, { ...event, stateDelta: { a: 1 } })],
      ["appendEvent inside", () => one.appendEvent("inner", event)],
      ["appendEvents", () => one.appendEvents(chat.id, [event])],
      ["withdrawEvents", () => one.withdrawEvents(chat.id, 1)],
      ["openSession", () => one.openSession({ id: "other", chat: chat.id, appName: "tool" })],
      ["createApproval", () => one.createApproval(newApproval(chat, "late"))],
      ["markTold", () => one.markTold(id)],
      ["markShown", () => one.markShown(id)],
    ];
    for (const [name, write] of writes) expect(await code(write()), name).toBe("NotOwner");
    expect(await everything()).toEqual(before);
    expect(await code(two.append(chat.id, [chunk("b")]))).toBe("nothing");
    expect((await one.move(asked.id, { event: "approve", by: "alice" })).moved).toBe(true);
    expect(await two.markTold(id)).toBe(true);
  });

  test("a node that never had a chat can write nothing to it either", async () => {
    const { two, chat } = await openTwo();
    expect(await code(two.append(chat.id, [chunk("a")]))).toBe("NotOwner");
    expect(await code(two.append(chat.id, [begin]))).toBe("NotOwner");
    expect(await code(two.appendEvent(chat.id, { id: "e", event: {}, responses: [] }))).toBe("NotOwner");
    expect(await code(two.createApproval(newApproval(chat, "call")))).toBe("NotOwner");
    expect(await code(two.append("unknown", [chunk("a")]))).toBe("not_found");
    expect(await two.read(chat.id)).toEqual([]);
  });

  test("a node that takes a chat again goes on where the other one stopped", async () => {
    const { one, two, chat } = await openTwo();
    await one.append(chat.id, [chunk("a")]);
    clock.at += leaseMs;
    await two.holdChat(chat.id, leaseMs);
    await two.append(chat.id, [chunk("b"), chunk("c")]);
    await two.releaseChats([chat.id]);
    await one.holdChat(chat.id, leaseMs);
    expect((await one.append(chat.id, [chunk("d")]))[0]?.sequence).toBe(4);
    expect((await two.read(chat.id)).map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
  });

  test("one chat that is lost does not keep the others from being written in the same moment", async () => {
    const { one, two, chat } = await openTwo();
    const others = await Promise.all(["b", "c", "d"].map((name) => openChat(one, name)));
    for (const { id } of others) await one.holdChat(id, leaseMs);
    clock.at += leaseMs;
    await two.holdChat(chat.id, leaseMs);
    const results = await Promise.all([chat, ...others].map(({ id }) => code(one.append(id, [chunk("a")]))));
    expect(results).toEqual(["NotOwner", "nothing", "nothing", "nothing"]);
    const rows = await Promise.all(
      [chat, ...others].map((each) => code(one.createApproval(newApproval(each, "call")))),
    );
    expect(rows).toEqual(["NotOwner", "nothing", "nothing", "nothing"]);
  });

  test("a node that lost a chat is told so over its only connection", async () => {
    const { two, chat } = await openTwo();
    const one = keep(postgresStore({ url: database.url, now, connections: 1, timeoutMs: 1000 }));
    clock.at += leaseMs;
    await one.holdChat(chat.id, leaseMs);
    clock.at += leaseMs;
    await two.holdChat(chat.id, leaseMs);
    expect(await code(one.withdrawEvents(chat.id, 1))).toBe("NotOwner");
  });

  test("what was asked for under a lease that was lost is not done under the next one of the same node", async () => {
    const { one, two, chat } = await openTwo();
    const other = await openChat(one, "second");
    await one.holdChat(other.id, leaseMs);
    // The database is slow with another chat, and what is asked for meanwhile waits.
    await database.run("BEGIN");
    await database.run("SELECT FROM adk_stream_protocol.session WHERE id = $1 FOR UPDATE", [other.id]);
    const slow = [one.append(other.id, [chunk("a")]), one.createApproval(newApproval(other, "slow"))];
    await new Promise((resolve) => setImmediate(resolve));
    const late = [code(one.append(chat.id, [chunk("late")])), code(one.createApproval(newApproval(chat, "late")))];
    clock.at += leaseMs;
    await two.holdChat(chat.id, leaseMs);
    await two.append(chat.id, [chunk("b")]);
    await two.releaseChats([chat.id]);
    expect(await one.holdChat(chat.id, leaseMs)).toMatchObject({ node: one.node, isNew: true });
    await database.run("COMMIT");
    await Promise.all(slow);
    expect(await Promise.all(late)).toEqual(["NotOwner", "NotOwner"]);
    expect((await one.append(chat.id, [chunk("c")]))[0]?.sequence).toBe(2);
  });

  test("rows and turns of a chat are only due at the node that has it, or everywhere if none has", async () => {
    const { one, two, chat } = await openTwo();
    await one.append(chat.id, [begin]);
    await one.createApproval(newApproval(chat, "call", { state: "approved" }));
    const due = async (store: Store) => [(await store.dueApprovals()).length, (await store.openTurns()).length];
    expect(await due(one)).toEqual([1, 1]);
    expect(await due(two)).toEqual([0, 0]);
    expect(await two.openTurns({ chat: chat.id })).toHaveLength(1);
    clock.at += leaseMs;
    expect(await due(two)).toEqual([1, 1]);
    await two.holdChat(chat.id, leaseMs);
    expect(await due(one)).toEqual([0, 0]);
    await two.releaseChats([chat.id]);
    expect(await due(one)).toEqual([1, 1]);
  });

  test("closing a store gives its chats and its calls back at once", async () => {
    const { one, two, chat } = await openTwo();
    const { id } = await one.createApproval(newApproval(chat, "call", { state: "approved" }));
    await one.move(id, { event: "claim", leaseOwner: "one", leaseMs });
    await one.close();
    expect(await two.dueApprovals()).toMatchObject([{ id, fence: 1, leaseUntil: start }]);
    expect(await two.holdChat(chat.id, leaseMs)).toMatchObject({ node: two.node, isNew: true });
  });

  test("of approvals and denials from several nodes at once one wins, and all see the same", async () => {
    const nodes = await openNodes(3);
    const one = nodes[0] as Store;
    const chat = await openChat(one);
    await one.holdChat(chat.id, leaseMs);
    for (let round = 0; round < 5; round += 1) {
      const { id } = await one.createApproval(newApproval(chat, `call ${round}`));
      const results = await Promise.all(
        Array.from({ length: 12 }, (_, n) =>
          (nodes[n % 3] as Store).move(id, { event: n % 2 ? "approve" : "deny", by: `person ${n}`, key: `key ${n}` }),
        ),
      );
      expect(results.filter(({ moved }) => moved)).toHaveLength(1);
      expect(new Set(results.map(({ approval }) => approval?.decisionKey)).size).toBe(1);
    }
    expect(await one.audit(chat.id)).toHaveLength(10);
  });

  test("a request is taken once, by the node that has the chat, and answered to the one that posted it", async () => {
    const [one, two, three] = (await openNodes(3)) as [Store, Store, Store];
    const [chat, other] = [await openChat(one), await openChat(one, "second")];
    await two.holdChat(chat.id, leaseMs);
    await three.holdChat(other.id, leaseMs);
    await one.post({ id: "r1", chat: chat.id, body: { text: "花\u0000\ud800" } });
    await one.post({ id: "r2", chat: chat.id, body: { n: 2 } });
    expect(await one.readAnswer("r1")).toEqual({});
    const taken = await Promise.all([one, two, three, two, two].map((node) => node.takePosted()));
    expect(taken.flat()).toEqual([
      { id: "r1", chat: chat.id, body: { text: "花\u0000\ud800" } },
      { id: "r2", chat: chat.id, body: { n: 2 } },
    ]);
    expect(taken[0]).toEqual([]);
    expect(taken[2]).toEqual([]);
    expect(await one.readAnswer("r1")).toEqual({ takenBy: two.node });
    expect(await one.takeBack("r1")).toBe(false);
    await three.answerPosted("r1", { from: "another node" });
    await two.answerPosted("r1", { ok: true });
    expect(await three.readAnswer("r1")).toBeUndefined();
    expect(await one.readAnswer("r1")).toEqual({ takenBy: two.node, answer: { ok: true } });
    expect(await one.readAnswer("r1")).toBeUndefined();
    expect(await code(one.post({ id: "r3", chat: "unknown", body: {} }))).toBe("not_found");
  });

  test("a request that was not taken goes to the node that takes the chat next", async () => {
    const { one, two, chat } = await openTwo();
    await two.post({ id: "r1", chat: chat.id, body: {} });
    clock.at += leaseMs;
    const [three] = [keep(postgresStore({ url: database.url, now }))];
    expect(await three.takePosted()).toEqual([]);
    await three.holdChat(chat.id, leaseMs);
    expect(await one.takePosted()).toEqual([]);
    expect(await three.takePosted()).toMatchObject([{ id: "r1" }]);
  });

  test("a request is either taken back or taken, never both", async () => {
    const { one, two, chat } = await openTwo();
    for (let round = 0; round < 20; round += 1) {
      await two.post({ id: `r${round}`, chat: chat.id, body: {} });
      const [isBack, taken] = await Promise.all([two.takeBack(`r${round}`), one.takePosted()]);
      expect([isBack, taken.length]).toEqual(isBack ? [true, 0] : [false, 1]);
    }
  });

  test("requests go with their chat", async () => {
    const { one, two, chat } = await openTwo();
    await two.post({ id: "r1", chat: chat.id, body: { secret: true } });
    await one.deleteSession(chat.id);
    expect(await one.takePosted()).toEqual([]);
    expect(await two.readAnswer("r1")).toBeUndefined();
    expect(await database.run("SELECT * FROM adk_stream_protocol.posted")).toEqual([]);
  });

  test("a node is called when something is posted to it, and when it gets an answer", async () => {
    const { one, two, chat } = await openTwo();
    const [toOne, toTwo] = [vi.fn(), vi.fn()];
    const stop = one.onPosted(toOne);
    two.onPosted(toTwo);
    await two.post({ id: "r1", chat: chat.id, body: {} });
    await vi.waitFor(() => expect(toOne).toHaveBeenCalled(), 5000);
    expect(await one.takePosted()).toHaveLength(1);
    await one.answerPosted("r1", {});
    await vi.waitFor(() => expect(toTwo).toHaveBeenCalled(), 5000);
    stop();
  });

  test("clients at one node are known at the others for a while", async () => {
    const { one, two } = await openTwo();
    await one.notePresence(["a", "b", "a"], 1000);
    expect(await one.isPresentElsewhere("a")).toBe(false);
    expect(await two.isPresentElsewhere("a")).toBe(true);
    expect(await two.isPresentElsewhere("c")).toBe(false);
    clock.at += 999;
    await one.notePresence(["b"], 1000);
    clock.at += 1;
    expect(await two.isPresentElsewhere("a")).toBe(false);
    expect(await two.isPresentElsewhere("b")).toBe(true);
  });

  test("watchers at every node hear of entries and of the end of the chat", async () => {
    const { one, two, chat } = await openTwo();
    const heard: LogNews[] = [];
    two.watch(chat.id, (news) => heard.push(news));
    await one.append(chat.id, [chunk("a")]);
    await vi.waitFor(() => expect(heard).toEqual([{}]), 5000);
    await one.deleteSession(chat.id);
    await vi.waitFor(() => expect(heard.at(-1)).toEqual({ isDeleted: true }), 5000);
    expect(heard).toHaveLength(2);
  });

  test("a chat that another node deletes is gone at the node that had it", async () => {
    const { one, two, chat } = await openTwo();
    await two.deleteSession(chat.id);
    expect(await code(one.append(chat.id, [chunk("a")]))).toBe("not_found");
    expect(await code(one.append(chat.id, [begin]))).toBe("not_found");
    expect(await code(one.appendEvent(chat.id, { id: "e", event: {}, responses: [] }))).toBe("not_found");
    expect(await code(one.createApproval(newApproval(chat, "call")))).toBe("not_found");
    expect(await code(one.holdChat(chat.id, leaseMs))).toBe("not_found");
  });

  test("a lost notification is made up for, and so is the connection that listens", async () => {
    const { one, two, chat } = await openTwo();
    const heard = vi.fn();
    two.watch(chat.id, heard);
    await one.append(chat.id, [chunk("a")]);
    await vi.waitFor(() => expect(heard).toHaveBeenCalled(), 5000);
    heard.mockClear();
    const listening = "FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'";
    expect(await database.run(`SELECT pg_terminate_backend(pid) ${listening}`)).toHaveLength(1);
    await one.append(chat.id, [chunk("b")]);
    await vi.waitFor(() => expect(heard).toHaveBeenCalled(), 5000);
    await vi.waitFor(async () => expect(await database.run(`SELECT 1 ${listening}`)).toHaveLength(1), 5000);
  });

  test("without a clock of their own they go by the database's", async () => {
    await database.empty();
    const [one, two] = [keep(postgresStore({ url: database.url })), keep(postgresStore({ url: database.url }))];
    const chat = await openChat(one);
    const lease = await one.holdChat(chat.id, 300);
    const [row] = await database.run("SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now");
    expect(Math.abs(one.now() - Number(row?.["now"]))).toBeLessThan(200);
    expect(lease.until).toBeGreaterThan(Number(row?.["now"]) - 200);
    await vi.waitFor(async () => expect(await two.holdChat(chat.id, 300)).toMatchObject({ isNew: true }), 5000);
    expect(await code(one.append(chat.id, [chunk("a")]))).toBe("NotOwner");
  });

  test("they may open an empty database at the same moment", async () => {
    const bare = await testDatabase({ bare: true });
    const nodes = Array.from({ length: 3 }, () => keep(postgresStore({ url: bare.url })));
    const chats = await Promise.all(nodes.map((node) => openChat(node)));
    expect(new Set(chats.map(({ id }) => id)).size).toBe(1);
    await Promise.all(opened.splice(0).map((store) => store.close()));
    await bare.close();
  });
});
