import { memoryStore } from "adk-stream-protocol/stores/memory";
import { beforeEach, describe, expect, it } from "vitest";
import { type AppStore, appStore } from "../../stores/app-store.ts";
import type { NewApproval } from "../../stores/index.ts";
import { answeredChat } from "./answered-chat.ts";

describe("the chat that answers belong to", () => {
  let store: AppStore;

  /** Opens a chat with a call that waits for an answer. */
  async function chatWith(owner: string, name: string, id: string, toolCallId: string): Promise<void> {
    const { id: chat } = await store.openChat({ owner, name, appName: "a" });
    const row: NewApproval = {
      ...{ id, chat, session: chat, owner, toolCallId, toolName: "pay", input: "{}", digest: "d", messageId: "m" },
      ...{ agent: "a", mode: "request", external: false, effect: "opaque", gated: true },
      ...{ state: "pending", ttlMs: 60_000, startMs: 1000 },
    };
    await store.createApproval(row);
  }
  const found = async (chatName: string | undefined, ...ids: string[]) =>
    (
      await answeredChat(
        "alice",
        chatName,
        ids.map((id) => ({ id, approved: true })),
        store,
      )
    )?.name;

  beforeEach(async () => {
    store = appStore(memoryStore(), "a");
    await chatWith("alice", "one", "apr-1", "call-1");
    await chatWith("alice", "two", "apr-2", "call-2");
    await chatWith("bob", "his", "apr-3", "call-3");
  });

  it.each(["one", "two", "unknown", undefined])("is the chat of the approval, if it was sent to %s", async (name) => {
    expect(await found(name, "apr-1")).toBe("one");
    expect(await found(name, "call-1")).toBe("one");
  });

  it("is the chat it was sent to, if no approval is found", async () => {
    expect([await found("one", "apr-9"), await found("one")]).toEqual(["one", "one"]);
    expect([await found(undefined, "apr-9"), await found("unknown", "apr-9"), await found(undefined)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("is never a chat of another owner", async () => {
    for (const id of ["apr-3", "call-3"]) {
      expect(await found(undefined, id)).toBeUndefined();
      expect(await found("his", id)).toBeUndefined();
      expect(await found("one", id)).toBe("one");
    }
  });

  it("is the chat it was sent to, if calls of two chats have the same id", async () => {
    await chatWith("alice", "three", "apr-4", "call-1");
    expect([await found("one", "call-1"), await found("three", "call-1")]).toEqual(["one", "three"]);
    expect([await found("two", "call-1"), await found(undefined, "call-1")]).toEqual(["two", undefined]);
  });

  it("is no other chat for a call by its own id that does not wait any more", async () => {
    await store.move("apr-1", { event: "deny", by: "alice" });
    expect(await found(undefined, "call-1")).toBeUndefined();
    expect(await found(undefined, "apr-1")).toBe("one");
  });
});
