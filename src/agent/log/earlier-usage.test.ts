import { memoryStore } from "adk-stream-protocol/stores/memory";
import type { NewLogEntry, NewApproval } from "adk-stream-protocol/stores";
import { describe, expect, it } from "vitest";
import { earlierUsage } from "./earlier-usage.ts";

const usage = (totalTokens: number) => ({
  ...{ inputTokens: totalTokens, outputTokens: 0, totalTokens, reasoningTokens: 0, cachedInputTokens: 0 },
});

/** A turn in the log; `tokens` is the usage at its end, if it has one. */
function turn(id: string, reply: string, tokens?: number, more = 0): NewLogEntry[] {
  const delta = { type: "text-delta", id: "t", delta: "x" } as const;
  const finish = { type: "finish", messageMetadata: tokens === undefined ? {} : { usage: usage(tokens) } } as const;
  return [
    { turn: id, kind: "begin", reply },
    ...Array.from({ length: more }, (): NewLogEntry => ({ turn: id, kind: "chunk", chunk: delta })),
    { turn: id, kind: "chunk", chunk: finish },
    { turn: id, kind: "end" },
  ];
}

async function chatWith(...entries: NewLogEntry[]) {
  const store = memoryStore();
  const { id: chat } = await store.openChat({ owner: "o", name: "c", appName: "a" });
  await store.append(chat, entries);
  const row: NewApproval = {
    ...{ id: "a1", chat, session: chat, owner: "o", toolCallId: "c1", toolName: "pay", input: "{}", digest: "d" },
    ...{ messageId: "m1", agent: "a", mode: "request", external: false, effect: "opaque", gated: true },
    ...{ state: "pending", ttlMs: 1000, startMs: 1000 },
  };
  await store.createApproval(row);
  return { store, chat };
}

describe("the earlier usage of a message", () => {
  it("is that at the end of the last turn that has one", async () => {
    const { store, chat } = await chatWith(
      ...turn("t1", "m1", 10),
      ...turn("t2", "m1", 30),
      ...turn("t3", "m2", 500, 2000),
      ...turn("t4", "m1"),
    );
    expect(await earlierUsage(store, chat, "m1")).toEqual(usage(30));
  });

  it("is undefined for a message without calls that waited", async () => {
    const { store, chat } = await chatWith(...turn("t1", "m1", 10));
    expect(await earlierUsage(store, chat, "m2")).toBeUndefined();
  });

  it("is undefined if no turn of the message has one", async () => {
    const { store, chat } = await chatWith(...turn("t0", "m0", 10), ...turn("t1", "m1"));
    expect(await earlierUsage(store, chat, "m1")).toBeUndefined();
  });
});
