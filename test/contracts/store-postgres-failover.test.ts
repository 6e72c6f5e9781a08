/** What callers of the PostgreSQL store notice when a second server takes over, and when they are led to the wrong one. */
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Store, verifyAudit } from "../../src/stores/index.ts";
import { postgresStore } from "../../src/stores/postgres.ts";
import { chunk, deltas, patiently, unavailable } from "../fixtures/postgres-calls.ts";
import { type PostgresPair, startPostgresPair } from "../fixtures/postgres-pair.ts";
import { newApproval } from "./store.ts";

const leaseMs = 60_000;
const timeoutMs = 1000;
const opened: Store[] = [];
let pair: PostgresPair;
let names = 0;
beforeAll(async () => {
  pair = await startPostgresPair();
});
afterAll(() => pair.stop());
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
});

function openStore(): Store {
  const store = postgresStore({ url: pair.url, timeoutMs, connections: 2 });
  opened.push(store);
  return store;
}

async function openChat(store: Store) {
  const chat = await store.openChat({ owner: "alice", name: `chat ${(names += 1)}`, appName: "app" });
  await store.holdChat(chat.id, leaseMs);
  return chat;
}

async function run(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<Record<string, unknown>>(sql);
  await client.end();
  return rows;
}

describe("the PostgreSQL store", () => {
  test("writes each entry and each decision once, in order, while a second server takes over, twice", async () => {
    const store = openStore();
    const chat = await openChat(store);
    const over = new AbortController();
    const words: string[] = [];
    const decided: boolean[] = [];
    const writing = (async () => {
      for (let word = 0; !over.signal.aborted; word += 1) {
        words.push(`word ${word}`);
        await patiently(() => store.append(chat.id, [chunk(`word ${word}`)]));
      }
    })();
    const deciding = (async () => {
      for (let call = 0; !over.signal.aborted; call += 1) {
        const { id } = await patiently(() => store.createApproval(newApproval(chat, `call ${call}`)));
        const { approval } = await patiently(() => store.move(id, { event: "approve", by: "alice" }));
        decided.push(approval?.state === "approved");
      }
    })();
    for (let times = 0; times < 2; times += 1) {
      await pair.failOver();
      const { length } = words;
      await expect.poll(() => words.length).toBeGreaterThan(length + 1);
    }
    over.abort();
    await Promise.all([writing, deciding]);
    expect(await deltas(store, chat)).toEqual(words);
    expect(new Set(decided)).toEqual(new Set([true]));
    const audit = await store.audit(chat.id);
    expect(audit).toHaveLength(2 * decided.length);
    expect(verifyAudit(audit)).toBeUndefined();
  });

  test("refuses a server that only reads, keeps no connection to it, and goes on when it is led back", async () => {
    const store = openStore();
    const chat = await openChat(store);
    const misled = postgresStore({ url: pair.url, timeoutMs, connections: 2 });
    opened.push(misled);
    pair.mislead(true);
    for (let times = 0; times < 5; times += 1) {
      await unavailable(misled.check());
      await unavailable(misled.findChat("alice", chat.name ?? "", "app"));
    }
    misled.onPosted(() => undefined);
    const connections =
      "SELECT 1 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    await expect.poll(() => run(pair.replica.url, connections)).toEqual([]);
    pair.mislead(false);
    // A connection that was on its way to the other server is refused once more.
    await patiently(() => misled.check());
    const found = await patiently(() => misled.findChat("alice", chat.name ?? "", "app"));
    expect(found).toMatchObject({ id: chat.id });
  });

  test("is not ready while its server only reads", async () => {
    const store = openStore();
    const chat = await openChat(store);
    await run(pair.url, "ALTER SYSTEM SET default_transaction_read_only = on");
    await run(pair.url, "SELECT pg_reload_conf()");
    await expect.poll(() => store.check().then(String, ({ code }) => code as unknown)).toBe("unavailable");
    await unavailable(store.append(chat.id, [chunk("a")]));
    await run(pair.url, "ALTER SYSTEM RESET default_transaction_read_only");
    await run(pair.url, "SELECT pg_reload_conf()");
    await patiently(() => store.check());
    await patiently(() => store.append(chat.id, [chunk("a")]));
    expect(await deltas(store, chat)).toEqual(["a"]);
  });

  test("goes on behind what is left if the server that took over had not everything", async () => {
    const store = openStore();
    const chat = await openChat(store);
    for (const word of ["a", "b", "c"]) await store.append(chat.id, [chunk(word)]);
    // As if the last two entries had not reached the second server.
    await run(pair.url, `DELETE FROM adk_stream_protocol.log WHERE chat = '${chat.id}' AND sequence > 1`);
    await run(pair.url, `UPDATE adk_stream_protocol.session SET last_sequence = 1 WHERE id = '${chat.id}'`);
    await patiently(() => store.append(chat.id, [chunk("d")]));
    await store.append(chat.id, [{ turn: "turn", kind: "begin", reply: "reply" }]);
    expect((await store.read(chat.id)).map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
    expect(await deltas(store, chat)).toEqual(["a", "d", "begin"]);
  });
});
