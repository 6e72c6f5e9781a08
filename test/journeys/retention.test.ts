/** What is removed with time, and what readers get who ask for it. */
import { call, gate, pause, text } from "adk-stream-protocol/testing";
import type { UIMessageChunk } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import { nodeCount } from "../fixtures/nodes.ts";
import { endSockets, openSocket, type RawSocket } from "../fixtures/raw-socket.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import {
  afterTools,
  answer,
  asked,
  decide,
  get,
  idle,
  ledger,
  messagesOf,
  openWorld,
  payRules,
  quiet,
  receive,
  say,
  sequence,
  textOf,
  type World,
  type WorldOptions,
} from "../fixtures/world.ts";

afterEach(endSockets);
const oneDay = 24 * 60 * 60_000;

describe.each(storeKinds)("chunks of finished turns, on $name", ({ options }) => {
  const open = (more: WorldOptions = {}) => openWorld({ rules: payRules, ...options(), ...more });
  const chunkCount = async (world: World) => {
    const chat = await world.store.findChat("local", "chat-1", "root_agent");
    return (await world.store.read(chat?.id ?? "")).filter(({ kind }) => kind === "chunk").length;
  };
  const trim = async (world: World) => {
    world.clock.now += oneDay + 1;
    await world.bridge.sweep();
  };
  const attach = async (world: World, after: number, query = "?sequence=1"): Promise<RawSocket> => {
    const socket = await openSocket(world, query);
    socket.send({ type: "attach", id: "chat-1", after });
    return socket;
  };
  const words = (chunks: readonly UIMessageChunk[]) => textOf({ chunks } as never);

  it("go after a day, and the messages stay as they are", async () => {
    const world = await open();
    await say(world, "hello");
    await say(world, "weather");
    const before = await messagesOf(world);
    await world.bridge.sweep();
    expect(await chunkCount(world)).toBeGreaterThan(10);
    await trim(world);
    expect(await chunkCount(world)).toBe(2);
    expect(await messagesOf(world)).toEqual(before);
    await say(world, "hello");
    expect((await messagesOf(world)).slice(0, 4)).toEqual(before);
  });

  it("can be kept for another time, or not at all", async () => {
    for (const [chunksMs, left] of [
      [0, 1],
      [2 * oneDay, 7],
      [Infinity, 7],
    ] as const) {
      const world = await open({ bridge: { retention: { chunksMs } } });
      await say(world, "hello");
      const all = await chunkCount(world);
      await trim(world);
      expect(await chunkCount(world), String(chunksMs)).toBe(chunksMs === 0 ? left : all);
      await world.close();
    }
  });

  it("are made of the messages for a socket that asks for them", async () => {
    const world = await open();
    await say(world, "hello");
    const { approvalId, ...question } = asked(await say(world, "mixed"));
    await answer(world, [{ approvalId, ...question, approved: true }]);
    await quiet(world);
    const whole = await attach(world, 0);
    const before = await whole.until(({ done }) => done >= 2);
    await trim(world);
    await say(world, "weather");

    const again = await attach(world, 0);
    const received = await again.until(({ done }) => done >= 3);
    // The first reply, the question with its outcome as one message, and the turn that still has its chunks.
    expect(received.controls.filter(({ type }) => type === "turn")).toHaveLength(4);
    const starts = received.chunks.filter(({ type }) => type === "start");
    expect(starts.map((chunk) => (chunk as { messageId?: string }).messageId)).toEqual(
      (await messagesOf(world)).filter(({ role }) => role === "assistant").map(({ id }) => id),
    );
    expect(words(received.chunks)).toContain(words(before.chunks));
    const payments = received.chunks.filter(
      (chunk) => chunk.type === "tool-output-available" && JSON.stringify(chunk.output).includes("Hanako"),
    );
    expect(payments).toHaveLength(1);
    // In the middle: everything that the client has not seen at all.
    const [, second] = received.controls.filter(({ type }) => type === "turn");
    const later = await attach(world, Number(second?.["sequence"]) - 1);
    const rest = await later.until(({ done }) => done >= 2);
    expect(words(rest.chunks)).not.toContain("Hello");
    expect(words(received.chunks)).toContain(words(rest.chunks));
  });

  it("are not repeated for a socket that has seen them", async () => {
    const world = await open();
    await say(world, "hello");
    const { body } = await get(world, "/approvals?chat=chat-1");
    await trim(world);
    const socket = await attach(world, Number(body.sequence));
    await socket.until(({ controls }) => controls.length > 0);
    await say(world, "weather");
    const received = await socket.turn();
    expect(sequence(received)).toBe("start ss tis tia toa fs ss text fs finish [DONE]");
  });

  it("that a socket has only half of end with an error, never with a silent gap", async () => {
    const world = await open();
    await say(world, "hello");
    await trim(world);
    const socket = await attach(world, 3);
    const received = await socket.turn();
    expect(sequence(received)).toBe("error [DONE]");
    expect(received.chunks[0]).toMatchObject({ errorText: expect.stringContaining("Read the chat again.") });
    // So do the continuations of a message that it has.
    const question = asked(await say(world, "pay"));
    const { body } = await get(world, "/approvals?chat=chat-1");
    await answer(world, [{ ...question, approved: true }]);
    await quiet(world);
    await trim(world);
    const other = await attach(world, Number(body.sequence));
    expect(sequence(await other.turn())).toBe("error [DONE]");
  });

  it("of the running turn stay, and Last-Event-ID continues in it", async () => {
    const go = gate();
    const reached = gate();
    const world = await open({
      rules: [
        { when: /slowly/, say: () => (reached.open(), [text("One. "), pause(go.opened), text("Two.")]) },
        ...payRules,
      ],
    });
    await say(world, "hello");
    const saying = say(world, "slowly");
    await reached.opened;
    const socket = await attach(world, 0);
    const first = await socket.until(({ chunks }) => words(chunks).includes("One."));
    await trim(world);
    const headers = { "last-event-id": String(first.ids.at(-1)) };
    const resumed = fetch(`${world.server.url}/stream/chat-1/stream`, { headers }).then(receive);
    const late = await attach(world, 0);
    await late.until(({ chunks }) => words(chunks).includes("One."));
    go.open();
    expect(textOf(await resumed)).toBe("Two.");
    expect(textOf(await saying)).toBe("One. Two.");
    await late.until(({ chunks }) => words(chunks).endsWith("Two."));
  });

  it("do not make outcomes appear twice", async () => {
    const world = await open({ bridge: { retention: { chunksMs: 0 } } });
    const { approvalId } = asked(await say(world, "pay"));
    await world.bridge.sweep();
    await decide(world, approvalId, true);
    await quiet(world);
    await world.bridge.sweep();
    const before = await messagesOf(world);
    await decide(world, approvalId, true);
    await quiet(world);
    await world.crash();
    await world.bridge.sweep();
    await idle(world);
    expect(await messagesOf(world)).toEqual(before);
    expect(world.payments).toHaveLength(1);
  });

  it("are found missing by AI SDK's own socket too", async () => {
    const world = await openWorld({
      ...options(),
      rules: [afterTools, { when: /pay/, say: [call("process_payment", { amount: 5, recipient: "Hanako" })] }],
      bridge: { retention: { chunksMs: 0 } },
    });
    const socket = await openSocket(world);
    const messages = [{ id: "u", role: "user", parts: [{ type: "text", text: "pay" }] }];
    socket.send({ type: "send", id: "chat-1", requestId: "a", messages });
    await vi.waitFor(() => expect(socket.frames.at(-1)).toContain('"end"'));
    const [row] = await ledger(world);
    await decide(world, row?.id ?? "", true);
    await quiet(world);
    await world.bridge.sweep();
    const parts = [
      { type: "tool-process_payment", toolCallId: row?.toolCallId, state: "approval-responded", input: {} },
    ].map((part) => ({ ...part, approval: { id: row?.id, approved: true } }));
    const answered = [...messages, { id: row?.messageId, role: "assistant", parts }];
    socket.send({ type: "send", id: "chat-1", requestId: "b", messages: answered });
    await vi.waitFor(() => expect(JSON.parse(socket.frames.at(-1) ?? "{}")).toMatchObject({ requestId: "b" }));
  });
});

describe.each(storeKinds)("old chats, on $name", ({ options }) => {
  it("are deleted some time after their last change, a few at a time", async () => {
    const chatsMs = 10 * oneDay;
    const world = await openWorld({ rules: payRules, ...options(), bridge: { retention: { chatsMs } } });
    for (let number = 0; number < 7; number += 1) await say(world, "hello", { chat: `chat-${number}` });
    world.clock.now += chatsMs - oneDay;
    await say(world, "hello", { chat: "chat-3" });
    const socket = await openSocket(world, "?sequence=1");
    socket.send({ type: "attach", id: "chat-4" });
    await socket.until(({ controls }) => controls.length > 0);
    await world.bridge.sweep();
    const left = async () => ((await get(world, "/chats")).body.chats as { id: string }[]).map(({ id }) => id);
    expect(await left()).toHaveLength(7);
    world.clock.now += oneDay + 1;
    await world.bridge.sweep();
    // Each node deletes five with a sweep.
    expect(await left()).toHaveLength(Math.max(1, 7 - 5 * nodeCount));
    await world.bridge.sweep();
    expect(await left()).toEqual(["chat-3"]);
    const { controls } = await socket.until((received) => received.controls.length > 0);
    expect(controls).toEqual([{ type: "deleted", id: "chat-4" }]);
  });

  it("are kept for ever unless the application says otherwise", async () => {
    const world = await openWorld({ rules: payRules, ...options() });
    await say(world, "hello");
    world.clock.now += 10_000 * oneDay;
    await world.bridge.sweep();
    expect(await messagesOf(world)).toHaveLength(2);
  });
});

it("the options of retention are checked", async () => {
  for (const retention of [{ chatsMs: 0 }, { chatsMs: "1" }, { chunksMs: -1 }, { chunksMs: Number.NaN }])
    await expect(openWorld({ bridge: { retention: retention as never } })).rejects.toThrow(/The option retention\./);
});
