import { memoryStore } from "adk-stream-protocol/stores/memory";
import { expect, it } from "vitest";
import { earlierUsage } from "./earlier-usage.ts";

it("is the usage that the stored message has, if there is one", async () => {
  const store = memoryStore();
  const { id: chat } = await store.openChat({ owner: "o", name: "c", appName: "a" });
  const usage = { inputTokens: 1, outputTokens: 2, totalTokens: 3, reasoningTokens: 0, cachedInputTokens: 0 };
  for (const [reply, metadata] of [["m1", { usage }] as const, ["m2", {}] as const])
    await store.append(chat, [
      { turn: `t-${reply}`, kind: "begin", reply },
      { turn: `t-${reply}`, kind: "end", message: { id: reply, role: "assistant", metadata, parts: [] } },
    ]);
  expect(await earlierUsage(store, chat, "m1")).toEqual(usage);
  expect(await earlierUsage(store, chat, "m2")).toBeUndefined();
  expect(await earlierUsage(store, chat, "m3")).toBeUndefined();
});
