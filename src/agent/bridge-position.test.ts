import { LlmAgent } from "@google/adk";
import { expect, test } from "vitest";
import { memoryStore } from "../stores/memory.ts";
import { overrideStore } from "../stores/override-store.ts";
import { createBridge } from "./bridge.ts";
import { silentLogger } from "./support/index.ts";

const methods = ["lastSequence", "openTurns"] as const;

/** A chat in which a turn begins directly before the store is asked for the first time by one of its methods. */
async function openChat(method: (typeof methods)[number]) {
  const store = memoryStore();
  const { id } = await store.openChat({ owner: "me", name: "chat", appName: "agent" });
  let isArmed = false;
  const beginFirst = async () => {
    if (!isArmed) return;
    isArmed = false;
    await store.append(id, [{ kind: "begin", turn: "turn", reply: "reply" }]);
  };
  const watched = overrideStore(store, {
    lastSequence: async (chat) => {
      if (method === "lastSequence") await beginFirst();
      return store.lastSequence(chat);
    },
    openTurns: async (filter) => {
      if (method === "openTurns") await beginFirst();
      return store.openTurns(filter);
    },
  });
  const agent = new LlmAgent({ name: "agent", model: "gemini-2.5-flash" });
  const bridge = await createBridge({ agent, store: watched, sweepMs: 0, logger: silentLogger });
  isArmed = true;
  return bridge;
}

test.each(methods)("a turn that begins while the position is read is running there (before %s)", async (method) => {
  const bridge = await openChat(method);
  // With the number but not the turn a reader would begin in the middle of the turn and miss it.
  expect((await bridge.position("me", "chat")).running).toBe(true);
  await bridge.close();
});

test("a turn that ends while the position is read is before it", async () => {
  const store = memoryStore();
  const { id } = await store.openChat({ owner: "me", name: "chat", appName: "agent" });
  const agent = new LlmAgent({ name: "agent", model: "gemini-2.5-flash" });
  let isArmed = false;
  const watched = overrideStore(store, {
    openTurns: async (filter) => {
      if (isArmed) await store.append(id, [{ kind: "end", turn: "turn" }]);
      isArmed = false;
      return store.openTurns(filter);
    },
  });
  const bridge = await createBridge({ agent, store: watched, sweepMs: 0, logger: silentLogger });
  await store.append(id, [{ kind: "begin", turn: "turn", reply: "reply" }]);
  isArmed = true;
  expect(await bridge.position("me", "chat")).toEqual({ sequence: 2, running: false });
  await bridge.close();
});
