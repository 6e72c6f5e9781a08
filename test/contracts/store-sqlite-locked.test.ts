/** X3: another program holds the write lock of the database: a shell, a backup. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createInterface } from "node:readline";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { sqliteStore } from "../../src/stores/sqlite.ts";
import { newApproval } from "./store.ts";

const folder = mkdtempSync(join(tmpdir(), "store-locked-"));
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
async function openStore(busyMs?: number) {
  const path = join(folder, `${(files += 1)}.db`);
  const store = sqliteStore({ path, ...(busyMs !== undefined && { busyMs }) });
  ends.push(() => store.close());
  const session = await store.openChat({ owner: "alice", name: "first", appName: "app" });
  const { id: other } = await store.openChat({ owner: "bob", name: "other", appName: "app" });
  return { store, path, session, chat: session.id, other };
}

/** Takes the write lock from another connection. */
function lock(path: string): () => void {
  const raw = new DatabaseSync(path);
  ends.push(() => raw.isOpen && raw.close());
  raw.exec("BEGIN IMMEDIATE");
  return () => raw.close();
}

const chunk = (delta: string) =>
  ({ turn: "turn", kind: "chunk", chunk: { type: "text-delta", id: "1", delta } }) as const;
const ticks = async (count: number) => {
  for (let tick = 0; tick < count; tick += 1) await new Promise((resolve) => setImmediate(resolve));
};
/** Whether a promise has settled. */
function watch(promise: Promise<unknown>): { isSettled: boolean } {
  const state = { isSettled: false };
  const settle = () => void (state.isSettled = true);
  promise.then(settle, settle);
  return state;
}

describe("a database that another program has locked", () => {
  test("X3: keeps a write waiting without blocking the event loop, and reads of every chat go on", async () => {
    const { store, path, chat, other } = await openStore();
    await store.append(other, [chunk("before")]);
    const release = lock(path);
    const began = performance.now();
    const write = store.append(chat, [chunk("waits")]);
    const state = watch(write);
    expect(await store.read(other)).toHaveLength(1);
    await ticks(50);
    expect(await store.findChat("bob", "other", "app")).toMatchObject({ id: other });
    expect(state.isSettled).toBe(false);
    expect(performance.now() - began, "the event loop was blocked").toBeLessThan(1500);
    release();
    expect(await write).toMatchObject([{ sequence: 1 }]);
  });

  test("X3: is waited for, also when the other program is killed", async () => {
    const { store, path, session, chat } = await openStore();
    const script = `
      const { DatabaseSync } = require("node:sqlite");
      new DatabaseSync(${JSON.stringify(path)}).exec("BEGIN IMMEDIATE");
      console.log("locked");
      setInterval(() => {}, 1000);`;
    const child: ChildProcess = spawn(process.execPath, ["--no-warnings", "--eval", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const exited = once(child, "exit");
    ends.push(async () => {
      child.kill("SIGKILL");
      await exited;
    });
    if (!child.stdout) throw new Error("The other program has no output.");
    await once(createInterface({ input: child.stdout }), "line");
    const created = store.createApproval(newApproval(session, "call"));
    const state = watch(created);
    await ticks(20);
    expect(state.isSettled).toBe(false);
    child.kill("SIGKILL");
    expect(await created).toMatchObject({ state: "pending" });
    expect(await store.audit(chat)).toHaveLength(1);
  });

  test("X3: gives each write up after its limit with `unavailable`, and takes writes again when it is free", async () => {
    const { store, path, session, chat } = await openStore(30);
    const row = await store.createApproval(newApproval(session, "call"));
    const release = lock(path);
    const writes = [
      store.append(chat, [chunk("a")]),
      store.append(chat, [chunk("a"), chunk("b")]),
      store.move(row.id, { event: "approve", by: "alice" }),
      store.openChat({ owner: "alice", name: "second", appName: "app" }),
      store.appendEvent(chat, { id: "event", event: {}, responses: [] }),
    ];
    for (const result of await Promise.allSettled(writes))
      expect(result).toMatchObject({
        status: "rejected",
        reason: { code: "unavailable", message: "Another program keeps the database locked. Try again in a moment." },
      });
    release();
    expect(await store.read(chat)).toEqual([]);
    expect(await store.move(row.id, { event: "deny", by: "alice" })).toMatchObject({ moved: true });
    expect(await store.append(chat, [chunk("c")])).toMatchObject([{ sequence: 1 }]);
  });

  test("a turn that ends while the database is locked leaves the right number for the next entry", async () => {
    const { store, path, chat } = await openStore();
    await store.append(chat, [{ turn: "turn", kind: "begin", reply: "reply" }]);
    const release = lock(path);
    const writes = [store.append(chat, [chunk("a")]), store.append(chat, [{ turn: "turn", kind: "end" }])];
    release();
    await Promise.all(writes);
    expect(await store.lastSequence(chat)).toBe(3);
    expect(await store.append(chat, [chunk("after")])).toMatchObject([{ sequence: 4 }]);
  });

  test("X3: gets the writes in the order in which they were asked for, each once", async () => {
    const { store, path, chat, other } = await openStore();
    const seen: number[] = [];
    store.watch(chat, ({ entries = [] }) => seen.push(...entries.map(({ sequence }) => sequence)));
    const release = lock(path);
    const names = Array.from({ length: 40 }, (_, index) => `word-${index}`);
    const writes = names.map((name, index) =>
      index % 3 === 0
        ? store.append(chat, [{ turn: "turn", kind: "begin", reply: name }, chunk(name)])
        : store.append(index % 3 === 1 ? chat : other, [chunk(name)]),
    );
    await ticks(20);
    release();
    await Promise.all(writes);
    const words = async (id: string) =>
      (await store.read(id)).flatMap((entry) =>
        entry.kind === "chunk" && entry.chunk.type === "text-delta" ? entry.chunk.delta : [],
      );
    expect(await words(chat)).toEqual(names.filter((_, index) => index % 3 !== 2));
    expect(await words(other)).toEqual(names.filter((_, index) => index % 3 === 2));
    const log = await store.read(chat);
    expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, index) => index + 1));
    expect(seen).toEqual(log.map(({ sequence }) => sequence));
  });

  test("X3: opens one chat for two requests that waited together, and takes one of two decisions", async () => {
    const { store, path, session, chat } = await openStore();
    const row = await store.createApproval(newApproval(session, "call"));
    const release = lock(path);
    const opened = [1, 2].map(() => store.openChat({ owner: "alice", name: "new", appName: "app" }));
    const inner = [1, 2].map(() => store.openSession({ id: "inner", chat, appName: "app" }));
    const decided = (["approve", "deny"] as const).map((event) => store.move(row.id, { event, by: "alice" }));
    await ticks(5);
    release();
    const [first, second] = await Promise.all(opened);
    expect(first?.id).toBe(second?.id);
    expect(new Set((await Promise.all(inner)).map(({ id }) => id))).toEqual(new Set(["inner"]));
    expect((await Promise.all(decided)).map(({ moved }) => moved)).toEqual([true, false]);
    expect(await store.getApproval(row.id)).toMatchObject({ state: "approved" });
  });

  test("X3: is not closed before the writes that wait have been made", async () => {
    const { store, path, chat } = await openStore();
    const release = lock(path);
    const write = store.append(chat, [chunk("last")]);
    const closed = store.close();
    await ticks(5);
    release();
    await write;
    await closed;
    const again = sqliteStore({ path });
    ends.push(() => again.close());
    expect(await again.read(chat)).toHaveLength(1);
  });
});
