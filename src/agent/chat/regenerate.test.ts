import { describe, expect, it } from "vitest";
import type { ApprovalState } from "../../protocol/index.ts";
import type { Change, Session, Store } from "../../stores/index.ts";
import { memoryStore } from "../../stores/memory.ts";
import { findReply } from "./regenerate.ts";

const lease = { leaseOwner: "me", leaseMs: 1 };
const ways: Partial<Record<ApprovalState, Change[]>> = {
  pending: [],
  denied: [{ event: "deny", by: "o" }],
  cancelled: [{ event: "cancel" }],
  approved: [{ event: "approve", by: "o" }],
  executing: [
    { event: "approve", by: "o" },
    { event: "claim", ...lease },
  ],
  succeeded: [
    { event: "approve", by: "o" },
    { event: "claim", ...lease },
    { event: "succeed", outcome: {}, fence: 1 },
  ],
};

/** A chat with one message and a reply that asked about one call, which went this way. */
async function askedChat(changes: readonly Change[]): Promise<{ store: Store; chat: Session }> {
  const store = memoryStore();
  const chat = await store.openChat({ owner: "o", name: "n", appName: "a" });
  const message = { id: "u1", role: "user" as const, parts: [{ type: "text" as const, text: "pay" }] };
  await store.append(chat.id, [
    { turn: "t1", kind: "begin", reply: "m1", message },
    { turn: "t1", kind: "chunk", chunk: { type: "start", messageId: "m1" } },
    { turn: "t1", kind: "end" },
  ]);
  const said = { id: "e1", author: "user", customMetadata: { message: "u1" }, content: { parts: [{ text: "pay" }] } };
  const called = { id: "e2", author: "a", content: { parts: [{ functionCall: { id: "call", name: "pay" } }] } };
  for (const event of [said, called]) await store.appendEvent(chat.id, { id: event.id, event, responses: [] });
  await store.createApproval({
    id: "apr",
    chat: chat.id,
    session: chat.id,
    owner: "o",
    toolCallId: "call",
    toolName: "pay",
    input: "{}",
    digest: "d",
    messageId: "m1",
    agent: "a",
    mode: "request",
    external: false,
    effect: "opaque",
    gated: true,
    state: "pending",
    ttlMs: 60_000,
    startMs: 60_000,
  });
  for (const change of changes) await store.move("apr", change);
  return { store, chat };
}

describe("findReply", () => {
  for (const state of ["approved", "executing", "succeeded"] as const)
    it(`refuses a reply with a call that is ${state}: it has run or is about to`, async () => {
      const { store, chat } = await askedChat(ways[state]!);
      await expect(findReply(chat, undefined, store)).rejects.toMatchObject({ code: "had_effect" });
    });

  for (const state of ["pending", "denied", "cancelled"] as const)
    it(`takes back a reply with a call that is ${state}, and owes the model nothing for it`, async () => {
      const { store, chat } = await askedChat(ways[state]!);
      const { message, withdraw } = await findReply(chat, "m1", store);
      expect(message.id).toBe("u1");
      await withdraw();
      expect(await store.events(chat.id)).toEqual([]);
      expect(await store.getApproval("apr")).toMatchObject({
        state: state === "pending" ? "cancelled" : state,
        told: true,
      });
      expect(await store.dueApprovals()).toEqual([]);
      expect((await store.read(chat.id)).at(-1)).toMatchObject({ kind: "withdraw", from: 2 });
    });

  it("refuses another reply than the last, and a chat without one", async () => {
    const { store, chat } = await askedChat([]);
    await expect(findReply(chat, "m0", store)).rejects.toMatchObject({ code: "conflict" });
    const empty = await store.openChat({ owner: "o", name: "empty", appName: "a" });
    await expect(findReply(empty, undefined, store)).rejects.toMatchObject({ code: "not_found" });
  });
});
