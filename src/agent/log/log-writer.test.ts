import type { UIMessageChunk } from "ai";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { memoryStore } from "../../stores/memory.ts";
import { silentLogger } from "../support/index.ts";
import { LogWriter } from "./log-writer.ts";

const delta = (text: string): UIMessageChunk => ({ type: "text-delta", id: "1", delta: text });

async function open({ isLeft = false } = {}) {
  const store = memoryStore();
  const { append: whole } = store;
  const chat = await store.openChat({ owner: "me", name: "chat", appName: "app" });
  const append = vi.spyOn(store, "append");
  const writer = new LogWriter({
    store,
    logger: silentLogger,
    chat: chat.id,
    turn: "turn",
    reply: "msg",
    origin: { mode: "request", actor: "alice" },
    isLeft: () => isLeft,
  });
  const written = async () =>
    (await store.read(chat.id)).map((entry) => (entry.kind === "chunk" ? JSON.stringify(entry.chunk) : entry.kind));
  return { store, chat: chat.id, append, whole, writer, written };
}

describe("the writer of a turn's log", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("writes small pieces together, in order", async () => {
    const { writer, append, written } = await open();
    writer.writeSoon([delta("a")]);
    writer.writeSoon([delta("b")]);
    await vi.advanceTimersByTimeAsync(10);
    expect(append).toHaveBeenCalledTimes(1);
    expect(await written()).toEqual([delta("a"), delta("b")].map((chunk) => JSON.stringify(chunk)));
  });

  it("writes what is buffered before what must be written now", async () => {
    const { writer, written } = await open();
    await writer.begin(undefined);
    writer.writeSoon([delta("a")]);
    await writer.write([delta("b")]);
    await writer.end();
    expect((await written()).slice(2)).toEqual([JSON.stringify(delta("a")), JSON.stringify(delta("b")), "end"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("tries again to write the end when the store fails, and says so in the log", async () => {
    const { writer, append, written } = await open();
    await writer.begin(undefined);
    append.mockRejectedValueOnce(new Error("busy")).mockRejectedValueOnce(new Error("busy"));
    writer.writeSoon([delta("a")]);
    const ended = writer.end();
    await vi.runAllTimersAsync();
    await ended;
    expect((await written()).slice(2)).toEqual([expect.stringContaining("could not store this reply"), "end"]);
  });

  it.each([
    ["the end", 1],
    ["the last words", 0],
  ])("writes %s once if only the reply of the store was lost, and the message has them", async (_what, after) => {
    const { store, chat, writer, append, whole, written } = await open();
    await writer.begin(undefined);
    await writer.write([{ type: "text-start", id: "1" }]);
    let left = after;
    append.mockImplementation(async (...args) => {
      const appended = await whole(...args);
      left -= 1;
      if (left === -1) throw new Error("lost");
      return appended;
    });
    writer.writeSoon([delta("a")]);
    const ended = writer.end();
    await vi.runAllTimersAsync();
    await ended;
    expect((await written()).filter((entry) => entry === "end" || entry.includes('"a"'))).toHaveLength(2);
    const [stored] = await store.messages(chat);
    expect(stored?.message.parts).toMatchObject([{ type: "text", text: "a" }]);
  });

  it("ends the calls whose results the store has lost, but none that is in the ledger", async () => {
    const { store, chat, writer, append, written } = await open();
    await writer.begin(undefined);
    await store.createApproval({
      ...{ id: "apr_1", chat, session: chat, owner: "me", toolCallId: "held", toolName: "pay", input: "{}" },
      ...{ digest: "d", messageId: "msg", agent: "agent", mode: "request", state: "pending", gated: true },
      ...{ external: false, effect: "opaque", ttlMs: 1000, startMs: 1000, requestedBy: "me" },
    });
    const called = (toolCallId: string) =>
      ({ type: "tool-input-available", toolCallId, toolName: "pay", input: {} }) as const;
    await writer.write([called("held"), called("done"), called("lost")]);
    await writer.write([{ type: "tool-output-available", toolCallId: "done", output: {} }]);
    append.mockRejectedValueOnce(new Error("busy"));
    const lost = writer.write([{ type: "tool-output-available", toolCallId: "lost", output: {} }]);
    await expect(lost).rejects.toThrow("busy");
    const ended = writer.end();
    await vi.runAllTimersAsync();
    await ended;
    expect((await written()).filter((entry) => entry.includes("tool-output-error"))).toEqual([
      expect.stringContaining('"lost"'),
    ]);
    const [stored] = await store.messages(chat);
    const states = stored?.message.parts.flatMap((part) => ("toolCallId" in part ? part.state : []));
    expect(states).toEqual(["input-available", "output-available", "output-error"]);
  });

  it("leaves the end alone if the turn was ended while it tried again, and the message has each word once", async () => {
    const { store, chat, writer, append, whole, written } = await open();
    await writer.begin(undefined);
    await writer.write([{ type: "text-start", id: "1" }, delta("a"), { type: "text-end", id: "1" }]);
    append.mockRejectedValueOnce(new Error("away"));
    const { getMessage } = store;
    const stored = { id: "msg", role: "assistant" as const, parts: [{ type: "text" as const, text: "a" }] };
    // It has seen that the turn is open, and what recovers the chat ends it at this moment.
    vi.spyOn(store, "getMessage").mockImplementationOnce(async (...args) => {
      await whole(chat, [{ turn: "turn", kind: "end", message: stored }]);
      return getMessage(...args);
    });
    const ended = writer.end();
    await vi.runAllTimersAsync();
    await ended;
    expect((await written()).filter((entry) => entry === "end")).toHaveLength(1);
    expect((await store.getMessage(chat, "msg"))?.message).toEqual(stored);
  });

  it("writes nothing when another node goes on with the turn", async () => {
    const { writer, append } = await open({ isLeft: true });
    await expect(writer.write([delta("a")])).rejects.toThrow("Another node has taken chat");
    await writer.end();
    expect(append).not.toHaveBeenCalled();
  });

  it("gives up after a while, with the first failure", async () => {
    const { writer, append } = await open();
    await writer.begin(undefined);
    append.mockRejectedValue(new Error("gone"));
    const failure = writer.end().catch((error: unknown) => error);
    await vi.runAllTimersAsync();
    expect(await failure).toMatchObject({ message: "gone" });
  });
});
