/** What callers of the PostgreSQL store notice when the database, or the way to it, goes away. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type PostgresServer, startPostgres } from "../../scripts/start-postgres.ts";
import { type Session, type Store, verifyAudit } from "../../src/stores/index.ts";
import { postgresStore } from "../../src/stores/postgres.ts";
import { openCutProxy } from "../fixtures/cut-proxy.ts";
import { chunk, deltas, patiently, unavailable } from "../fixtures/postgres-calls.ts";
import { newApproval } from "./store.ts";

const leaseMs = 60_000;
const timeoutMs = 400;
const opened: Store[] = [];
let server: PostgresServer;
let names = 0;
beforeAll(async () => {
  server = await startPostgres({ durable: false });
});
afterAll(() => server.stop());
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
});

async function openStore(url: string): Promise<{ store: Store; chat: Session }> {
  const store = postgresStore({ url, timeoutMs });
  opened.push(store);
  const chat = await store.openChat({ owner: "alice", name: `chat ${(names += 1)}`, appName: "app" });
  await store.holdChat(chat.id, leaseMs);
  return { store, chat };
}

describe("the PostgreSQL store", () => {
  test("loses no entry when a lease is renewed while an append is under way", async () => {
    const { store, chat } = await openStore(server.url);
    const turns = Array.from({ length: 12 }, (_, index) => `turn ${index}`);
    let ms = leaseMs;
    for (const turn of turns) {
      const appended = store.append(chat.id, [{ turn, kind: "begin", reply: "reply" }, chunk(turn)]);
      await new Promise((resolve) => setImmediate(resolve));
      // Long enough that the store asks the database.
      ms *= 3;
      await store.holdChat(chat.id, ms);
      await appended;
    }
    expect((await store.read(chat.id)).map((entry) => `${entry.kind} ${entry.turn}`)).toEqual(
      turns.flatMap((turn) => [`begin ${turn}`, "chunk turn"]),
    );
  });

  test("writes each entry and each decision once, in order, while the server restarts and crashes", async () => {
    const { store, chat } = await openStore(server.url);
    const words = Array.from({ length: 60 }, (_, index) => `word ${index}`);
    const decided: boolean[] = [];
    const writing = (async () => {
      for (const word of words) await patiently(() => store.append(chat.id, [chunk(word)]));
    })();
    const deciding = (async () => {
      for (let call = 0; call < 20; call += 1) {
        const { id } = await patiently(() => store.createApproval(newApproval(chat, `call ${call}`)));
        const { approval } = await patiently(() => store.move(id, { event: "approve", by: "alice" }));
        decided.push(approval?.state === "approved");
      }
    })();
    await server.restart();
    await server.kill();
    await server.start();
    await Promise.all([writing, deciding]);
    expect(await deltas(store, chat)).toEqual(words);
    expect(decided).toEqual(Array.from({ length: 20 }, () => true));
    const audit = await store.audit(chat.id);
    expect(audit).toHaveLength(40);
    expect(verifyAudit(audit)).toBeUndefined();
  });

  test("says `unavailable` to every call while there is no server, and works again when there is one", async () => {
    const { store, chat } = await openStore(server.url);
    const { id } = await store.createApproval(newApproval(chat, "call"));
    // A process of the server may carry out the deletion in its last moment.
    const unwanted = await store.openChat({ owner: "alice", name: "unwanted", appName: "app" });
    await server.kill();
    const cold = postgresStore({ url: server.url, timeoutMs });
    opened.push(cold);
    await Promise.all([
      unavailable(cold.findChat("alice", "x", "app")),
      unavailable(store.getSession(chat.id)),
      unavailable(store.openChat({ owner: "alice", name: "new", appName: "app" })),
      unavailable(store.append(chat.id, [chunk("a")])),
      unavailable(store.append(chat.id, [{ turn: "t", kind: "begin", reply: "r" }])),
      unavailable(store.appendEvent(chat.id, { id: "e", event: {}, responses: [] })),
      unavailable(store.move(id, { event: "approve", by: "alice" })),
      unavailable(store.dueApprovals()),
      unavailable(store.renewChats(leaseMs)),
      unavailable(store.takePosted()),
      unavailable(store.deleteSession(unwanted.id)),
    ]);
    await server.start();
    expect(await patiently(() => cold.findChat("alice", "x", "app"))).toBeUndefined();
    expect(await patiently(() => store.move(id, { event: "approve", by: "alice" }))).toMatchObject({ moved: true });
    expect(await store.append(chat.id, [chunk("b")])).toMatchObject([{ sequence: 1 }]);
  });

  test("notices a connection that is lost without a sign, and does not write twice what was written", async () => {
    const proxy = await openCutProxy(server.url.replace("postgres:", "http:"));
    const { store, chat } = await openStore(server.url.replace(/:\d+\//, `:${new URL(proxy.url).port}/`));
    await store.append(chat.id, [chunk("a")]);
    proxy.stall();
    const began = performance.now();
    // It reaches the database. The reply does not come back.
    await unavailable(store.append(chat.id, [chunk("b"), chunk("c")]));
    expect(performance.now() - began).toBeLessThan(10 * timeoutMs);
    await unavailable(store.getSession(chat.id));
    proxy.cut();
    proxy.release();
    expect(await patiently(() => store.append(chat.id, [chunk("b"), chunk("c")]))).toMatchObject([
      ...[{ sequence: 2 }, { sequence: 3 }],
    ]);
    await store.append(chat.id, [chunk("c")]);
    expect(await deltas(store, chat)).toEqual(["a", "b", "c", "c"]);
    await store.close();
    await proxy.close();
  });

  test("finishes what it began when only the reply is lost", async () => {
    const proxy = await openCutProxy(server.url.replace("postgres:", "http:"));
    const { store, chat } = await openStore(server.url.replace(/:\d+\//, `:${new URL(proxy.url).port}/`));
    const { id } = await store.createApproval(newApproval(chat, "call"));
    await store.append(chat.id, [{ turn: "t", kind: "begin", reply: "r" }]);
    for (const bytes of [1, 30, 60, 90, 120, 200, 400]) {
      const broken = proxy.cutAfter(bytes);
      const turn = `turn ${bytes}`;
      const writes = async () => {
        await patiently(() => store.append(chat.id, [chunk(`x ${bytes}`)]));
        await patiently(() => store.append(chat.id, [{ turn, kind: "begin", reply: turn }]));
        await patiently(() => store.append(chat.id, [{ turn, kind: "end" }]));
        await patiently(() => store.appendEvent(chat.id, { id: turn, event: {}, responses: [turn] }));
        await patiently(() => store.createApproval(newApproval(chat, turn)));
      };
      await Promise.all([writes(), broken]);
    }
    expect((await patiently(() => store.move(id, { event: "approve", by: "alice" }))).approval?.state).toBe("approved");
    expect(await store.read(chat.id)).toHaveLength(1 + 7 * 3);
    expect(await store.events(chat.id)).toHaveLength(7);
    expect(await store.listApprovals({ chat: chat.id })).toHaveLength(8);
    expect(verifyAudit(await store.audit(chat.id))).toBeUndefined();
    await store.close();
    await proxy.close();
  });
});
