/** Decisions, claims and outcomes that three nodes make at the same time are linearizable. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Change, type Session, type Store, verifyAudit } from "../../src/stores/index.ts";
import { postgresStore } from "../../src/stores/postgres.ts";
import { newApproval } from "../contracts/store.ts";
import { openCutProxy } from "../fixtures/cut-proxy.ts";
import { type TestDatabase, testDatabase } from "../fixtures/postgres.ts";
import { type StoreInput, storeModel, type StoreOutput } from "./approval-models.ts";
import { findOrder, type Operation } from "./linearizable.ts";
import { randomFrom } from "./random.ts";

const chats = 20;
const approvalsPerChat = 15;
const operationsPerApproval = 10;

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

/** `mark` tells the operation from others that are the same. */
function toChange(event: Exclude<StoreInput, "read">, mark: string): Change {
  switch (event) {
    case "approve":
    case "deny":
      return { event, by: "alice", key: mark };
    case "claim":
    case "reclaim":
      return { event, leaseOwner: mark, leaseMs: 60_000 };
    case "succeed":
    case "fail":
      return { event, outcome: { done: event }, fence: 1 };
    default:
      return { event };
  }
}

async function perform(store: Store, id: string, input: StoreInput, mark: string): Promise<StoreOutput> {
  if (input !== "read") {
    const { moved, approval } = await store.move(id, toChange(input, mark));
    return { moved, state: approval?.state ?? "pending" };
  }
  return { moved: false, state: (await store.getApproval(id))?.state ?? "pending" };
}

it("changes from three nodes, of which one loses its connections, are linearizable", { timeout: 60_000 }, async () => {
  const random = randomFrom("decisions", 1);
  const proxy = await openCutProxy(database.url.replace(/^postgres/, "http"));
  const cuttable = new URL(database.url);
  cuttable.port = new URL(proxy.url).port;
  const first = postgresStore({ url: database.url });
  const stores = [first, ...[database.url, cuttable.href].map((url) => postgresStore({ url }))];
  const histories = new Map<string, Operation<StoreInput, StoreOutput>[]>();
  const opened: Session[] = [];
  for (let index = 0; index < chats; index += 1) {
    const chat = await first.openChat({ owner: "alice", name: `chat ${index}`, appName: "app" });
    await first.holdChat(chat.id, 60_000);
    opened.push(chat);
    await Promise.all(
      Array.from({ length: approvalsPerChat }, async (_, call) => {
        const { id } = await first.createApproval(newApproval(chat, `call ${index}-${call}`));
        histories.set(id, []);
      }),
    );
  }

  const decisions = ["approve", "deny", "approve", "deny", "cancel", "read"] as const;
  const outcomes = ["claim", "claim", "succeed", "fail", "approve", "read"] as const;
  // Several at a time, so that the operations of one approval overlap.
  const queue = [...histories].flatMap(([id, history]) =>
    Array.from({ length: operationsPerApproval }, (_, index) => ({
      ...{ id, history, mark: `operation ${index}`, store: random.below(stores.length) },
      input: random.pick<StoreInput>(index < operationsPerApproval / 2 ? decisions : outcomes),
    })),
  );
  const worker = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const { id, history, input, mark } = next;
      const store = stores[next.store];
      if (!store) continue;
      const called = performance.now();
      const output = await perform(store, id, input, mark).catch(() => undefined);
      history.push({ input, output, called, returned: output ? performance.now() : Infinity });
      if (queue.length % 400 === 0) proxy.cut();
    }
  };
  await Promise.all(Array.from({ length: 24 }, worker));

  for (const [id, history] of histories) {
    expect(history, id).toHaveLength(operationsPerApproval);
    expect(findOrder(storeModel, history), `${id}: ${JSON.stringify(history)}`).toBeDefined();
  }
  for (const chat of opened) expect(verifyAudit(await first.audit(chat.id))).toBe(undefined);
  await Promise.all(stores.map((store) => store.close()));
  await proxy.close();
});
