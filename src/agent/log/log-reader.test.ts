import { expect, test } from "vitest";
import { memoryStore } from "../../stores/memory.ts";
import { overrideStore } from "../../stores/override-store.ts";
import type { Store } from "../../stores/index.ts";
import { LogReader } from "./log-reader.ts";

/** A reader of a chat with one entry, in a store that is changed by `own`. */
async function open(own: (store: Store, chat: string) => Partial<Store>) {
  const store = memoryStore();
  const { id } = await store.openChat({ owner: "me", name: "chat", appName: "agent" });
  await store.append(id, [{ kind: "begin", turn: "turn", reply: "reply" }]);
  const changed = overrideStore<Store>(store, own(store, id));
  return { store, id, log: new LogReader(changed, id, { after: 0, onNews: () => undefined }) };
}

test("a chat that was deleted before the reader began is over, also if its entries are still there", async () => {
  // As PostgreSQL does it: the chat is gone at once, its entries a moment later.
  const { log } = await open(() => ({ getSession: async () => undefined }));
  expect(await log.read()).toHaveLength(1);
  expect(log.hasNews).toBe(true);
  await expect(log.read()).rejects.toThrow("deleted");
});

test("a chat that is deleted between two reads is over", async () => {
  const { store, id, log } = await open(() => ({}));
  expect(await log.read()).toHaveLength(1);
  expect([log.hasNews, await log.read()]).toEqual([false, []]);
  await store.deleteSession(id);
  expect(log.hasNews).toBe(true);
  await expect(log.read()).rejects.toThrow("deleted");
});

test("what could not be read is there to be read again", async () => {
  let fails = true;
  const { log } = await open((store) => ({
    async read(...asked) {
      if (fails) throw new Error("The database is away.");
      return store.read(...asked);
    },
  }));
  await expect(log.read()).rejects.toThrow("away");
  fails = false;
  expect(log.hasNews).toBe(true);
  expect(await log.read()).toHaveLength(1);
});

test("whether the chat is there is asked once", async () => {
  let asked = 0;
  const { log } = await open((store) => ({
    async getSession(id) {
      asked += 1;
      return store.getSession(id);
    },
  }));
  await log.read();
  await log.read({ fromStore: true });
  expect(asked).toBe(1);
});
