import { expect, test } from "vitest";
import { memoryStore } from "../../stores/memory.ts";
import type { Session, Store } from "../../stores/index.ts";
import { EventCache } from "./event-cache.ts";

/** A store that notes from where events are read. */
async function openChat() {
  const store = memoryStore();
  const chat = await store.openChat({ owner: "alice", name: "first", appName: "app" });
  const reads: number[] = [];
  const counted: Store = {
    ...store,
    events(id, range) {
      reads.push(range?.after ?? 0);
      return store.events(id, range);
    },
  };
  const session = async () => (await store.getSession(chat.id)) as Session;
  const append = (id: string) => store.appendEvent(chat.id, { id, event: { id, deep: { n: 1 } }, responses: [] });
  return { store, chat, counted, reads, session, append };
}
const ids = (events: { id: string }[]) => events.map(({ id }) => id);

test("reads only what is new", async () => {
  const { counted, reads, session, append } = await openChat();
  const cache = new EventCache(counted);
  await append("a");
  expect(ids(await cache.events(await session()))).toEqual(["a"]);
  await append("b");
  await append("c");
  expect(ids(await cache.events(await session()))).toEqual(["a", "b", "c"]);
  expect(ids(await cache.events(await session()))).toEqual(["a", "b", "c"]);
  expect(reads).toEqual([0, 1, 3]);
});

test("reads everything again if earlier events were replaced or withdrawn", async () => {
  const { store, chat, counted, reads, session, append } = await openChat();
  const cache = new EventCache(counted);
  for (const id of ["a", "b", "c"]) await append(id);
  await cache.events(await session());
  await store.withdrawEvents(chat.id, 2);
  await append("d");
  expect(ids(await cache.events(await session()))).toEqual(["a", "d"]);
  await store.appendEvent(chat.id, { id: "a", event: { id: "A" }, responses: [] });
  expect(ids(await cache.events(await session()))).toEqual(["A", "d"]);
  expect(reads).toEqual([0, 0, 0]);
});

test("gives each caller a list of its own, with events that no one can change", async () => {
  const { counted, session, append } = await openChat();
  const cache = new EventCache(counted);
  await append("a");
  const events = await cache.events(await session());
  events.push({ id: "mine" } as (typeof events)[number]);
  expect(ids(await cache.events(await session()))).toEqual(["a"]);
  expect(() => Object.assign(events[0]!, { id: "other" })).toThrow(/read only/);
  expect(Object.isFrozen((events[0] as unknown as { deep: object }).deep)).toBe(true);
});

test("drops what was not used for ten minutes, and keeps what was", async () => {
  const { store, counted, reads } = await openChat();
  let now = 0;
  const cache = new EventCache({ ...counted, now: () => now });
  const open = async (name: string) => {
    const { id } = await store.openChat({ owner: "alice", name, appName: "app" });
    await store.appendEvent(id, { id: "a", event: { id: "a" }, responses: [] });
    return (await store.getSession(id)) as Session;
  };
  const [one, two] = [await open("one"), await open("two")];
  await cache.events(one);
  await cache.events(two);
  now = 300_000;
  await cache.events(one);
  now = 600_000;
  cache.dropUnused();
  await cache.events(one);
  await cache.events(two);
  expect(reads).toEqual([0, 0, 1, 1, 0]);
});

test("forgets the sessions that were used least recently when it is full", async () => {
  const { store, counted, reads } = await openChat();
  const cache = new EventCache(counted, 300);
  const open = async (name: string) => {
    const { id } = await store.openChat({ owner: "alice", name, appName: "app" });
    await store.appendEvent(id, { id: "a", event: { id: "a", text: "x".repeat(10) }, responses: [] });
    return (await store.getSession(id)) as Session;
  };
  const [one, two] = [await open("one"), await open("two")];
  await cache.events(one);
  await cache.events(two);
  await cache.events(two);
  await cache.events(one);
  expect(reads).toEqual([0, 0, 1, 0]);
});
