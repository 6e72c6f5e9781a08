/** `WS /live` on both of its wires, the chat wire and AI SDK 7's, with plain sockets and with AI SDK's own transport. */
import { once } from "node:events";
import { call, gate, pause, text } from "adk-stream-protocol/testing";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import * as ai from "ai";
import { type UIMessage, type UIMessageChunk, WebSocketChatTransport } from "ai";
import { afterEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import {
  type Control,
  endSockets,
  type LiveReceived,
  liveUrl,
  openSocket,
  type RawSocket,
} from "../fixtures/raw-socket.ts";
import { chatOver, majors, toolParts, wordsOf } from "../fixtures/stock-chat.ts";
import {
  afterTools,
  asked,
  decide,
  idle,
  ledger,
  messageIdOf,
  messagesOf,
  openSlowWorld,
  openWorld,
  payRules,
  quiet,
  receive,
  say,
  sequence,
  states,
  textOf,
  userMessage,
  type World,
} from "../fixtures/world.ts";

afterEach(endSockets);

const message = (words: string, more: object = {}) => ({
  type: "message",
  id: "chat-1",
  messages: [userMessage(words)],
  ...more,
});

/** A world whose model stops in the middle of a sentence until the test lets it continue. */
async function openPausedWorld() {
  const reached = gate();
  const go = gate();
  const world = await openWorld({
    rules: [
      afterTools,
      { when: /slowly/, say: () => (reached.open(), [text("One. "), pause(go.opened), text("Two.")]) },
      ...payRules.slice(1),
    ],
  });
  return { world, reached: reached.opened, go: go.open };
}

describe("the chat wire", () => {
  test.each([
    ["flat", (fields: object) => ({ version: "1.0", ...fields })],
    ["inside data", ({ type, ...data }: { type: string }) => ({ type, version: "1.0", data })],
  ])("carries a message, a question, its answer and the reply on one socket, with fields %s", async (_name, wrap) => {
    const world = await openWorld();
    const client = await openSocket(world);
    client.send(wrap(message("hello")));
    const hello = await client.turn();
    expect(sequence(hello)).toBe("start ss text fs finish [DONE]");
    expect(textOf(hello)).toBe("Hello there, friend.");
    expect(hello.ids).toEqual([]);
    expect(hello.controls).toEqual([]);
    expect(client.frames.every((frame) => frame.startsWith("data: ") && frame.split("data: ").length === 2)).toBe(true);

    client.send(wrap(message("pay")));
    const question = await client.question();
    expect(sequence(question)).toBe("start ss tis tia tar fs");
    const { approvalId } = asked(question);
    client.send(wrap({ type: "tool_result", toolCallId: approvalId, result: { confirmed: true } } as { type: string }));
    const outcome = await client.turn();
    expect(sequence(outcome)).toBe("toa ss text fs finish [DONE]");
    expect(states(outcome)).toEqual(["approved", "executing", "succeeded"]);
    expect(world.payments).toEqual([{ amount: 50, recipient: "Hanako" }]);
  });

  test("accepts a tool_result with the call's own id", async () => {
    const world = await openWorld();
    const client = await openSocket(world);
    client.send(message("pay"));
    const { toolCallId } = asked(await client.question());
    client.send({ type: "tool_result", toolCallId, result: { approved: false, user_message: "Too much." } });
    const outcome = await client.turn();
    expect(sequence(outcome)).toBe("tod ss text fs finish [DONE]");
    expect(await ledger(world)).toMatchObject([{ state: "denied", reason: "Too much." }]);
    expect(world.payments).toEqual([]);
  });

  test("accepts a user's message with a tool-result part", async () => {
    const world = await openWorld();
    const client = await openSocket(world);
    client.send(message("pay"));
    const { toolCallId } = asked(await client.question());
    const content = [{ type: "tool-result", toolCallId, result: { approved: true, user_message: "User approved" } }];
    client.send({ type: "message", id: "chat-1", messages: [{ role: "user", content }] });
    expect(sequence(await client.turn())).toBe("toa ss text fs finish [DONE]");
    expect(world.payments).toHaveLength(1);
  });

  test("accepts the assistant's message with the answer in its part, as useChat sends it", async () => {
    const world = await openWorld();
    const client = await openSocket(world);
    client.send(message("pay"));
    const { approvalId, toolCallId, messageId } = asked(await client.question());
    const part = {
      type: "tool-process_payment",
      toolCallId,
      state: "approval-responded",
      input: {},
      approval: { id: approvalId, approved: true },
    };
    client.send({
      type: "message",
      id: "chat-1",
      messageId,
      messages: [{ id: messageId, role: "assistant", parts: [part] }],
    });
    expect(sequence(await client.turn())).toBe("toa ss text fs finish [DONE]");
    expect(world.payments).toHaveLength(1);
  });

  test("finds the chat of a tool_result on a new socket by the approval's id, and begins with start", async () => {
    const world = await openWorld();
    const { approvalId, messageId } = asked(await say(world, "pay"));
    const client = await openSocket(world);
    client.send({ type: "tool_result", toolCallId: approvalId, result: { confirmed: true } });
    const outcome = await client.turn();
    expect(sequence(outcome)).toBe("start toa ss text fs finish [DONE]");
    expect(messageIdOf(outcome)).toBe(messageId);
    client.send({ type: "tool_result", toolCallId: "call-of-nobody", result: { confirmed: true } });
    expect(sequence(await client.turn())).toBe("error [DONE]");
  });

  test("needs the chat's id for a tool_result with the call's own id on a new socket", async () => {
    const world = await openWorld();
    const { toolCallId } = asked(await say(world, "pay"));
    const client = await openSocket(world);
    client.send({ type: "tool_result", toolCallId, result: { approved: true } });
    expect(sequence(await client.turn())).toBe("error [DONE]");
    client.send({ type: "tool_result", id: "chat-1", toolCallId, result: { approved: true } });
    expect(sequence(await client.turn())).toBe("start toa ss text fs finish [DONE]");
    expect(world.payments).toHaveLength(1);
  });

  test("accepts the answers to two questions one by one, in either order, without an end between them", async () => {
    const world = await openWorld();
    const client = await openSocket(world);
    client.send(message("two payments"));
    const question = await client.question();
    expect(sequence(question)).toBe("start ss tis tia tis tia tar tar fs");
    client.send({ type: "tool_result", toolCallId: asked(question, 1).approvalId, result: { confirmed: true } });
    const first = await client.until(({ chunks }) => chunks.some(({ type }) => type === "tool-output-available"));
    expect(first.done).toBe(0);
    client.send({ type: "tool_result", toolCallId: asked(question, 0).approvalId, result: { confirmed: false } });
    const rest = await client.turn();
    expect(rest.done).toBe(1);
    expect(sequence(rest)).toContain("tod");
    expect(world.payments).toEqual([{ amount: 40, recipient: "Bob" }]);
  });

  test("gives a repeated answer the outcome, with one [DONE], and pays nothing", async () => {
    const world = await openWorld();
    const client = await openSocket(world);
    client.send(message("pay"));
    const { approvalId, messageId } = asked(await client.question());
    const answer = { type: "tool_result", toolCallId: approvalId, result: { confirmed: true } };
    client.send(answer);
    await client.turn();
    client.send(answer);
    const repeated = await client.turn();
    expect(sequence(repeated)).toBe("start toa ss fs finish [DONE]");
    expect(messageIdOf(repeated)).toBe(messageId);
    expect(world.payments).toHaveLength(1);
  });

  test("pays once when the same answer is sent twice at once", async () => {
    const world = await openWorld();
    const client = await openSocket(world);
    client.send(message("pay"));
    const { approvalId } = asked(await client.question());
    const answer = { type: "tool_result", toolCallId: approvalId, result: { confirmed: true } };
    client.send(answer, answer, { type: "ping", timestamp: 1 });
    await client.until(({ controls, done }) => controls.length > 0 && done > 0);
    await quiet(world);
    expect(world.payments).toHaveLength(1);
  });

  test("sends a pong for a ping, between the events of a turn", async () => {
    const { world, reached, go } = await openPausedWorld();
    const client = await openSocket(world);
    client.send(message("slowly"));
    await reached;
    client.send({ type: "ping", timestamp: 1_700_000_000_000.5 });
    const { controls } = await client.until(({ controls: got }) => got.length > 0);
    expect(controls).toEqual([{ type: "pong", timestamp: 1_700_000_000_000.5 }]);
    go();
    expect((await client.turn()).done).toBe(1);
  });

  test("stops the reply on interrupt", async () => {
    const { world, reached, go } = await openPausedWorld();
    const client = await openSocket(world);
    client.send(message("slowly"));
    await reached;
    client.send({ type: "interrupt", reason: "enough" });
    const stopped = await client.turn();
    expect(stopped.chunks.at(-1)).toMatchObject({ type: "abort" });
    expect(textOf(stopped)).not.toContain("Two.");
    go();
    client.send(message("hello"));
    expect(textOf(await client.turn())).toBe("Hello there, friend.");
  });

  test("stops a streaming reply when a new message comes, and each reply has its [DONE]", async () => {
    const { world, reached, go } = await openPausedWorld();
    const client = await openSocket(world);
    client.send(message("slowly"));
    await reached;
    client.send(message("hello"));
    const both = await client.until(({ done }) => done === 2);
    expect(both.chunks.filter(({ type }) => type === "start")).toHaveLength(2);
    expect(textOf(both)).toContain("Hello there, friend.");
    expect(textOf(both)).not.toContain("Two.");
    go();
  });

  test("handles several frames in order", async () => {
    const world = await openWorld();
    const client = await openSocket(world);
    client.send(message("hello"), { type: "ping", timestamp: 1 }, message("hello", { id: "chat-2" }), {
      type: "ping",
      timestamp: 2,
    });
    const { controls } = await client.until(({ controls: got, done }) => got.length === 2 && done > 0);
    expect(controls.map(({ timestamp }) => timestamp)).toEqual([1, 2]);
    await idle(world);
    expect(await messagesOf(world)).toHaveLength(2);
    expect(await messagesOf(world, "chat-2")).toHaveLength(2);
  });

  test("refuses audio with a sentence, and nothing else happens", async () => {
    const world = await openWorld();
    const client = await openSocket(world);
    client.send(
      { type: "ping", timestamp: 1 },
      { type: "audio_control", action: "start" },
      { type: "audio_chunk", chunk: "AAAA" },
    );
    const refused = await client.until(({ done }) => done === 2);
    expect(refused.chunks).toEqual(
      ["audio_control", "audio_chunk"].map((type) => ({
        type: "error",
        errorText: `This server accepts no audio; send a message frame instead of ${type}.`,
      })),
    );
  });

  test("shows the confirmation as a call of its own with ?confirmation=tool", async () => {
    const world = await openWorld();
    const client = await openSocket(world, "?confirmation=tool");
    client.send(message("pay"));
    const question = await client.until(
      ({ chunks }) => chunks.filter(({ type }) => type === "finish-step").length === 2,
    );
    expect(sequence(question)).toBe("start ss tis tia fs ss tis tia fs");
    const confirmation = question.chunks.findLast((chunk) => chunk.type === "tool-input-available")!;
    expect(confirmation).toMatchObject({
      toolName: "adk_request_confirmation",
      input: { toolConfirmation: { confirmed: false } },
    });
    client.send({ type: "tool_result", toolCallId: confirmation.toolCallId, result: { confirmed: false } });
    expect(sequence(await client.turn())).toBe("toe ss text fs finish [DONE]");
    expect(world.payments).toEqual([]);
  });

  test("sends turns that others caused too, until the socket switches to another chat", async () => {
    const world = await openWorld();
    const client = await openSocket(world);
    client.send(message("pay"));
    const { approvalId } = asked(await client.question());
    await decide(world, approvalId, true);
    expect(sequence(await client.turn())).toBe("toa ss text fs finish [DONE]");
    await say(world, "hello");
    expect(sequence(await client.turn())).toBe("start ss text fs finish [DONE]");
    client.send(message("hello", { id: "chat-2" }));
    await client.turn();
    await say(world, "hello");
    client.send({ type: "ping", timestamp: 1 });
    const after = await client.until(({ controls }) => controls.length > 0);
    expect(after.chunks).toEqual([]);
  });

  test("does not stop the turn when the socket closes", async () => {
    const { world, reached, go } = await openPausedWorld();
    const client = await openSocket(world);
    client.send(message("slowly"));
    await reached;
    client.socket.terminate();
    await client.closed;
    go();
    await idle(world);
    expect((await messagesOf(world)).at(-1)?.parts.at(-1)).toMatchObject({ type: "text", text: "One. Two." });
  });
});

describe("the chat wire with ?sequence=1", () => {
  const numbered = (world: World) => openSocket(world, "?sequence=1");

  test("numbers the events, and announces turns, parked turns and accepted requests", async () => {
    const world = await openWorld();
    const client = await numbered(world);
    client.send(message("pay", { requestId: "r1" }));
    const question = await client.until(({ controls }) => controls.some(({ type }) => type === "parked"));
    const turn = question.controls.find(({ type }) => type === "turn")!;
    const { sequence: parkedAt } = question.controls.find(({ type }) => type === "parked")!;
    expect(question.controls).toEqual(
      expect.arrayContaining([
        { type: "accepted", requestId: "r1", turn: turn["turn"] },
        { type: "turn", turn: turn["turn"], reply: messageIdOf(question), sequence: 1 },
        { type: "parked", turn: turn["turn"], sequence: parkedAt },
      ]),
    );
    expect(question.ids).toEqual([...question.ids].toSorted((a, b) => a - b));
    expect(question.ids).toHaveLength(question.chunks.length);
    expect(parkedAt).toBeGreaterThan(question.ids.at(-1)!);
    const { approvalId } = asked(question);
    client.send({ type: "tool_result", toolCallId: approvalId, result: { confirmed: true }, requestId: "r2" });
    const outcome = await client.turn();
    const next = outcome.controls.find(({ type }) => type === "turn")!;
    expect(next).toMatchObject({ reply: messageIdOf(question), sequence: Number(parkedAt) + 1 });
    expect(outcome.controls).toContainEqual({ type: "accepted", requestId: "r2", turn: next["turn"] });

    client.send({ type: "tool_result", toolCallId: approvalId, result: { confirmed: true }, requestId: "r3" });
    const repeated = await client.turn();
    expect(repeated.controls.map(({ type }) => type)).toEqual(["accepted", "turn"]);
    expect(repeated.controls[0]!["turn"]).toBe(repeated.controls[1]!["turn"]);
    expect(repeated.ids).toEqual([]);

    client.send({ type: "tool_result", toolCallId: "nobody's", result: { confirmed: true }, requestId: "r4" });
    const { controls, chunks } = await client.until(({ controls: got }) => got.length > 0);
    expect(controls).toEqual([
      { type: "refused", requestId: "r4", code: "not_found", message: "There is no approval nobody's here." },
    ]);
    expect(chunks).toEqual([]);
  });

  test("gives a client that reconnects exactly what it has missed, wherever it was cut off", async () => {
    const world = await openWorld();
    const whole = await numbered(world);
    whole.send(message("pay"));
    const { approvalId } = asked(await whole.until(({ controls }) => controls.some(({ type }) => type === "parked")));
    whole.send({ type: "tool_result", toolCallId: approvalId, result: { confirmed: true } });
    await whole.turn();
    whole.send(message("hello"));
    await whole.turn();
    const frames = whole.frames.filter((frame) => !frame.includes('"accepted"'));
    const numberOf = (frame: string) =>
      Number(/^id: (\d+)|"sequence":(\d+)/.exec(frame)?.slice(1).find(Boolean) ?? NaN);
    const last = Math.max(...frames.map(numberOf).filter((number) => !Number.isNaN(number)));
    for (let after = 0; after <= last; after++) {
      const client = await numbered(world);
      client.send({ type: "attach", id: "chat-1", after }, { type: "ping", timestamp: 1 });
      const expected = frames.slice(frames.findLastIndex((frame) => numberOf(frame) <= after) + 1);
      await client.until(() => client.frames.length >= expected.length + 2);
      const [attached, ...rest] = client.frames.filter((frame) => !frame.includes('"pong"'));
      expect(JSON.parse(attached!)).toEqual({ type: "attached", id: "chat-1", sequence: last, running: false });
      expect(rest, `after ${after}`).toEqual(expected);
      client.socket.terminate();
    }
  });

  test("does so in the other dialect too", async () => {
    const world = await openWorld();
    const whole = await openSocket(world, "?sequence=1&confirmation=tool");
    whole.send(message("pay"));
    const question = await whole.until(({ controls }) => controls.some(({ type }) => type === "parked"));
    const confirmation = question.chunks.findLast((chunk) => chunk.type === "tool-input-available")!;
    whole.send({ type: "tool_result", toolCallId: confirmation.toolCallId, result: { confirmed: false } });
    const outcome = await whole.turn();
    expect(sequence(outcome)).toBe("toe ss text fs finish [DONE]");
    const seen = outcome.ids[0]!;
    const client = await openSocket(world, "?sequence=1&confirmation=tool");
    client.send({ type: "attach", id: "chat-1", after: seen });
    expect((await client.turn()).chunks).toEqual(outcome.chunks.slice(1));
  });

  test("replays a running reply from its start after attach, and continues with everything after it", async () => {
    const { world, reached, go } = await openPausedWorld();
    const first = await numbered(world);
    first.send(message("slowly"));
    await reached;
    await first.until(({ chunks }) => chunks.some(({ type }) => type === "text-delta"));
    const second = await numbered(world);
    second.send({ type: "attach", id: "chat-1" });
    await second.until(({ chunks }) => chunks.some(({ type }) => type === "text-delta"));
    expect(JSON.parse(second.frames[0]!)).toMatchObject({ type: "attached", id: "chat-1", running: true });
    go();
    await second.turn();
    await first.turn();
    await say(world, "hello");
    await second.turn();
    await first.turn();
    const events = ({ frames }: RawSocket) => frames.filter((frame) => !/"(accepted|attached)"/.test(frame));
    expect(events(second)).toEqual(events(first));
  });

  test("ends the running reply before it follows another chat", async () => {
    const { world, reached, go } = await openPausedWorld();
    const client = await openSocket(world, "?sequence=1");
    client.send(message("slowly"));
    await reached;
    await client.until(({ chunks }) => chunks.some(({ type }) => type === "text-delta"));
    client.send({ type: "attach", id: "another" });
    await client.until(({ controls }) => controls.some(({ type }) => type === "attached"));
    const [left, attached] = client.frames.slice(-2);
    expect(left).toContain("[DONE]");
    expect(JSON.parse(attached!)).toMatchObject({ type: "attached", id: "another" });
    go();
    await idle(world);
  });

  test("ends a reply on every wire also if its end could not be stored", async () => {
    let isFull = false;
    const [reached, go] = [gate(), gate()];
    const world = await openWorld({
      rules: [{ say: () => (reached.open(), [text("One. "), pause(go.opened), text("Two.")]) }],
      store: (now) => {
        const store = memoryStore({ now });
        const { append } = store;
        store.append = async (chat, entries) => {
          if (isFull) throw new Error("The disk is full.");
          return append(chat, entries);
        };
        return store;
      },
    });
    const client = await openSocket(world);
    client.send(message("slowly"));
    await reached.opened;
    await client.until(({ chunks }) => chunks.some(({ type }) => type === "text-delta"));
    const resumed = receive(await fetch(`${world.server.url}/stream/chat-1/stream`));
    isFull = true;
    go.open();
    setTimeout(() => (isFull = false), 20);
    const errorText = "The server could not store this reply to its end.";
    for (const { chunks, done } of [await client.turn(), await resumed]) {
      expect(chunks.at(-1)).toEqual({ type: "error", errorText });
      expect(done).toBe(1);
    }
    await idle(world);
  });

  test("sends the message's earlier parts after attach in the middle of a continuation", async () => {
    const reached = gate();
    const go = gate();
    const slowAfter = { ...afterTools, say: () => (reached.open(), [text("One. "), pause(go.opened), text("Two.")]) };
    const world = await openWorld({ rules: [slowAfter, ...payRules.slice(1)] });
    const { approvalId, messageId } = asked(await say(world, "pay"));
    await decide(world, approvalId, true);
    await reached.opened;
    const client = await openSocket(world);
    client.send({ type: "attach", id: "chat-1" });
    await client.until(({ chunks }) => chunks.some(({ type }) => type === "text-delta"));
    go.open();
    await client.turn();
    const { chunks } = client.take();
    expect(chunks).toEqual([]);
    const all = client.frames.slice(1).map((frame) => frame.slice(6).trim());
    expect(all.filter((frame) => frame === "[DONE]")).toHaveLength(1);
    expect(JSON.parse(all[0]!)).toEqual({ type: "start", messageId });
    expect(all.join()).toContain("tool-input-available");
    expect(all.filter((frame) => frame.includes('"Two.'))).toHaveLength(1);
  });

  test("says after attach that nothing is running, and follows the chat from then on", async () => {
    const world = await openWorld();
    await say(world, "hello");
    const client = await numbered(world);
    client.send({ type: "attach", id: "chat-1" });
    const { controls, chunks } = await client.until(({ controls: got }) => got.length > 0);
    expect(controls).toMatchObject([{ type: "attached", running: false }]);
    expect(chunks).toEqual([]);
    await say(world, "hello");
    expect(sequence(await client.turn())).toBe("start ss text fs finish [DONE]");
  });

  test("follows a new chat from its first message, also if another client sends it", async () => {
    const world = await openWorld();
    const [mine, other] = [await numbered(world), await numbered(world)];
    for (const client of [mine, other]) {
      client.send({ type: "attach", id: "new" });
      const { controls } = await client.until(({ controls: got }) => got.length > 0);
      expect(controls).toEqual([{ type: "attached", id: "new", sequence: 0, running: false }]);
    }
    mine.send(message("hello", { id: "new" }));
    for (const client of [mine, other]) expect(sequence(await client.turn())).toBe("start ss text fs finish [DONE]");
    const third = await numbered(world);
    third.send({ type: "attach", id: "newer" });
    await third.until(({ controls }) => controls.length > 0);
    await say(world, "hello", { chat: "newer" });
    expect(sequence(await third.turn())).toBe("start ss text fs finish [DONE]");
  });

  test("does not hold back a turn if the attach number is too high", async () => {
    const world = await openWorld();
    const client = await numbered(world);
    await say(world, "hello");
    client.send({ type: "attach", id: "chat-1", after: 1_000_000 });
    await client.until(({ controls }) => controls.length > 0);
    await say(world, "hello");
    expect(sequence(await client.turn())).toBe("start ss text fs finish [DONE]");
  });

  test("does not run a message again that is sent again, and gives its reply", async () => {
    const { world, reached, go } = await openPausedWorld();
    const sent = message("slowly", { requestId: "r1" });
    const lost = await numbered(world);
    lost.send(sent);
    await reached;
    lost.socket.terminate();
    const client = await numbered(world);
    client.send({ type: "attach", id: "chat-1", after: 0 }, { ...sent, resend: true });
    const again = await client.until(({ controls }) => controls.some(({ type }) => type === "accepted"));
    go();
    await client.turn();
    const turn = again.controls.find(({ type }) => type === "accepted")!["turn"];
    // The same again when the turn is over and the reply is only in the log.
    const later = await numbered(world);
    later.send({ ...sent, resend: true });
    const whole = await later.turn();
    expect(whole.controls.find(({ type }) => type === "accepted")!["turn"]).toBe(turn);
    expect(textOf(whole)).toBe("One. Two.");
    expect(await messagesOf(world)).toHaveLength(2);
    // A message that never arrived is handled as a new one.
    later.send(message("hello", { resend: true }));
    expect(textOf(await later.turn())).toBe("Hello there, friend.");
  });

  test("runs a message once that is sent again on two sockets", async () => {
    const world = await openWorld();
    const sockets = await Promise.all([numbered(world), numbered(world), numbered(world)]);
    const sent = message("hello", { requestId: "r", resend: true });
    for (const client of sockets) client.send(sent);
    const replies = await Promise.all(sockets.map((client) => client.turn()));
    const turns = replies.map(({ controls }) => controls.find(({ type }) => type === "accepted")!["turn"]);
    expect(new Set(turns).size).toBe(1);
    expect(replies.map(textOf)).toEqual(Array.from(replies, () => "Hello there, friend."));
    expect(await messagesOf(world)).toHaveLength(2);
  });

  test("continues in the middle of a long message after a disconnect, in both dialects", async () => {
    const words = text(Array.from({ length: 1500 }, (_, index) => `w${index} `).join(""));
    const pays = { when: /long/, say: [words, call("process_payment", { amount: 50, recipient: "Hanako" })] };
    const world = await openWorld({ rules: [afterTools, pays] });
    const whole = await numbered(world);
    whole.send(message("long"));
    const question = await whole.until(({ controls }) => controls.some(({ type }) => type === "parked"));
    const parkedAt = question.controls.find(({ type }) => type === "parked")!["sequence"] as number;
    expect(parkedAt).toBeGreaterThan(1200);
    await decide(world, asked(question).approvalId, true);
    const outcome = await whole.turn();
    for (const confirmation of ["approval", "tool"])
      for (const after of [10, 1100, parkedAt - 3, parkedAt, parkedAt + 1, parkedAt + 2]) {
        const client = await openSocket(world, `?sequence=1&confirmation=${confirmation}`);
        client.send({ type: "attach", id: "chat-1", after });
        const rest = await client.turn();
        expect(rest.chunks.some(({ type }) => type === "start")).toBe(false);
        expect(Math.min(...rest.ids)).toBeGreaterThan(after);
        expect(textOf(rest).endsWith(textOf(outcome))).toBe(true);
        if (after < parkedAt - 3)
          expect(rest.chunks.some(({ type }) => type === "tool-approval-request")).toBe(confirmation === "approval");
        client.socket.terminate();
      }
  });

  test("keeps a question when the server restarts: the client reconnects, answers, and the message continues", async () => {
    const world = await openWorld();
    const lost = await numbered(world);
    lost.send(message("pay"));
    const question = await lost.until(({ controls }) => controls.some(({ type }) => type === "parked"));
    await world.crash();
    await lost.closed;
    const client = await numbered(world);
    const after = question.controls.find(({ type }) => type === "parked")!["sequence"];
    const answer = { type: "tool_result", toolCallId: asked(question).approvalId, result: { confirmed: true } };
    client.send({ type: "attach", id: "chat-1", after }, answer);
    expect(sequence(await client.turn())).toBe("toa ss text fs finish [DONE]");
    expect(world.payments).toHaveLength(1);
  });

  test("stays attached to a chat exactly as long as the socket follows it", async () => {
    const world = await openWorld();
    const held: string[] = [];
    world.bridge.attach = (owner, chat) => {
      held.push(`+${owner}/${chat}`);
      return () => void held.push(`-${owner}/${chat}`);
    };
    const client = await numbered(world);
    client.send({ type: "attach", id: "a" }, { type: "attach", id: "a", after: 0 }, message("hello", { id: "a" }));
    await client.turn();
    client.send(message("hello", { id: "b" }));
    await client.turn();
    expect(held).toEqual(["+local/a", "-local/a", "+local/b"]);
    client.socket.terminate();
    while (held.length < 4) await new Promise((resolve) => setImmediate(resolve));
    await world.server.close();
    expect(held).toEqual(["+local/a", "-local/a", "+local/b", "-local/b"]);
    await world.restart();
    const aiSdkClient = await openSocket(world);
    held.length = 0;
    world.bridge.attach = (owner, chat) => {
      held.push(`+${owner}/${chat}`);
      return () => void held.push(`-${owner}/${chat}`);
    };
    const send = { type: "send", id: "c", requestId: "1", messages: [userMessage("hello")] };
    aiSdkClient.send(send, { ...send, requestId: "2" });
    await aiSdkClient.until(({ controls }) => controls.filter(({ type }) => type === "end").length === 2);
    await world.server.close();
    expect(held).toEqual(["+local/c", "-local/c"]);
  });

  test("follows on a new socket from the turn that it caused, not from turns before it", async () => {
    const pay = (recipient: string) => call("process_payment", { amount: 10, recipient });
    const three = { when: /three/, say: [pay("Alice"), pay("Bob"), pay("Carol")] };
    const { world, started, finish } = await openSlowWorld({ rules: [afterTools, three] });
    const question = await say(world, "three");
    await decide(world, asked(question, 0).approvalId, true);
    await started;
    await decide(world, asked(question, 1).approvalId, false);
    const client = await numbered(world);
    const answer = { type: "tool_result", toolCallId: asked(question, 2).approvalId, result: { confirmed: false } };
    client.send({ ...answer, requestId: "r" });
    await client.until(({ controls }) => controls.some(({ type }) => type === "accepted"));
    finish();
    await client.turn();
    const turns = client.frames.filter((frame) => frame.startsWith('{"type":"turn"'));
    const accepted = JSON.parse(client.frames[0]!) as { type: string; turn: string };
    expect(accepted.type).toBe("accepted");
    expect(turns.map((frame) => (JSON.parse(frame) as { turn: string }).turn)).toEqual([accepted.turn]);
  });

  test("sends the same to ten sockets of one chat", async () => {
    const world = await openWorld();
    const sockets = await Promise.all(Array.from({ length: 10 }, () => numbered(world)));
    for (const client of sockets) client.send({ type: "attach", id: "chat-1" });
    await Promise.all(sockets.map((client) => client.until(({ controls }) => controls.length > 0)));
    sockets[0]!.send(message("pay"));
    const questions = await Promise.all(
      sockets.map((client) => client.until(({ controls }) => controls.some(({ type }) => type === "parked"))),
    );
    const answer = { type: "tool_result", toolCallId: asked(questions[0]!).approvalId, result: { confirmed: true } };
    for (const client of sockets) client.send(answer);
    const outcomes = await Promise.all(sockets.map((client) => client.turn()));
    for (const outcome of outcomes) expect(sequence(outcome)).toMatch(/^(start )?toa ss (text )?fs finish \[DONE\]/);
    expect(world.payments).toHaveLength(1);
  });
});

describe("AI SDK 7's own transport, unmodified", () => {
  /** `useChat`'s chat with AI SDK's own `WebSocketChatTransport` and automatic sending. */
  function aiSdkChat(world: World, { chat: id = "chat-1", query = "" } = {}) {
    const sockets: WebSocket[] = [];
    const requests: string[] = [];
    class CountedSocket extends WebSocket {
      constructor(address: string | URL, protocols?: string | string[]) {
        super(address, protocols);
        sockets.push(this);
      }
      override send(data: unknown) {
        requests.push((JSON.parse(String(data)) as { type: string }).type);
        if (requests.length > 20) throw new Error("The chat sends the same thing for ever.");
        super.send(String(data));
      }
    }
    const transport = new WebSocketChatTransport<UIMessage>({
      url: liveUrl(world, query),
      webSocket: CountedSocket as unknown as NonNullable<
        ConstructorParameters<typeof WebSocketChatTransport>[0]["webSocket"]
      >,
    });
    const { chat, errors, settled } = chatOver(ai, transport, { chat: id });
    const tools = () => toolParts(ai, chat.lastMessage!);
    const said = () => wordsOf(chat.lastMessage!);
    return { chat, transport, errors, sockets, requests, settled, tools, said };
  }

  test("sends messages and shows the replies", async () => {
    const { chat, errors, settled, said } = aiSdkChat(await openWorld());
    await chat.sendMessage({ text: "hello" });
    expect(await settled()).toHaveLength(2);
    expect(said()).toBe("Hello there, friend.");
    await chat.sendMessage({ text: "hello" });
    expect(await settled()).toHaveLength(4);
    expect(errors).toEqual([]);
  });

  test.each([
    [true, "output-available", 1],
    [false, "output-denied", 0],
  ])("answers with %j on the same socket", async (approved, end, payments) => {
    const world = await openWorld();
    const { chat, errors, sockets, requests, settled, tools, said } = aiSdkChat(world);
    await chat.sendMessage({ text: "pay" });
    await settled();
    expect(tools()).toMatchObject([{ state: "approval-requested" }]);
    await chat.addToolApprovalResponse({ id: tools()[0]!.approval!.id, approved });
    const messages = await settled();
    expect(tools()).toMatchObject([{ state: end }]);
    expect(said()).toContain("process_payment gave");
    expect(messages).toHaveLength(2);
    expect(world.payments).toHaveLength(payments);
    expect([sockets.length, requests, errors]).toEqual([1, ["send", "send"], []]);
  });

  test("answers two questions at once, one with yes and one with no", async () => {
    const world = await openWorld();
    const { chat, errors, settled, tools } = aiSdkChat(world);
    await chat.sendMessage({ text: "two payments" });
    await settled();
    const [first, second] = tools();
    await chat.addToolApprovalResponse({ id: first!.approval!.id, approved: false });
    await chat.addToolApprovalResponse({ id: second!.approval!.id, approved: true });
    await settled();
    expect(tools().map(({ state }) => state)).toEqual(["output-denied", "output-available"]);
    expect(world.payments).toEqual([{ amount: 40, recipient: "Bob" }]);
    expect(errors).toEqual([]);
  });

  test("stops the turn it reads", async () => {
    const { world, reached, go } = await openPausedWorld();
    const { chat, requests, settled, said } = aiSdkChat(world);
    const sending = chat.sendMessage({ text: "slowly" });
    await reached;
    await chat.stop();
    await sending;
    await settled();
    await idle(world);
    go();
    expect(requests).toEqual(["send", "abort"]);
    expect(said()).not.toContain("Two.");
    await chat.sendMessage({ text: "hello" });
    await settled();
    expect(said()).toBe("Hello there, friend.");
  });

  test("resumes with the whole reply after its socket was cut", async () => {
    const { world, reached, go } = await openPausedWorld();
    const { chat, sockets, errors, settled, said } = aiSdkChat(world);
    const sending = chat.sendMessage({ text: "slowly" });
    await reached;
    while (!said().includes("One.")) await new Promise((resolve) => setImmediate(resolve));
    sockets[0]!.terminate();
    await sending;
    await settled();
    expect(errors).toHaveLength(1);
    const resuming = chat.resumeStream();
    while (chat.status !== "streaming") await new Promise((resolve) => setImmediate(resolve));
    go();
    await resuming;
    const messages = await settled();
    expect(sockets).toHaveLength(2);
    expect(messages).toHaveLength(2);
    expect(said()).toBe("One. Two.");
    expect(errors).toHaveLength(1);
  });

  test("has nothing to resume while a question waits, and the answer still continues its message", async () => {
    const world = await openWorld();
    const { chat, transport, sockets, errors, settled, tools } = aiSdkChat(world);
    await chat.sendMessage({ text: "pay" });
    await settled();
    const closed = once(sockets[0]!, "close");
    sockets[0]!.terminate();
    await closed;
    await new Promise((resolve) => setImmediate(resolve));
    expect(await transport.reconnectToStream({ chatId: "chat-1" })).toBeNull();
    expect(await transport.reconnectToStream({ chatId: "nobody's" })).toBeNull();
    await chat.addToolApprovalResponse({ id: tools()[0]!.approval!.id, approved: true });
    await settled();
    expect(tools()).toMatchObject([{ state: "output-available" }]);
    expect(world.payments).toHaveLength(1);
    expect(errors).toEqual([]);
  });

  test("shows an expired question as denied, with the reason", async () => {
    const reached = gate();
    const go = gate();
    const slowAfter = { ...afterTools, say: () => (reached.open(), [text("Too late. "), pause(go.opened)]) };
    const world = await openWorld({ rules: [slowAfter, ...payRules.slice(1)] });
    const { chat, errors, settled, tools, said } = aiSdkChat(world);
    await chat.sendMessage({ text: "pay" });
    await settled();
    world.clock.now += 16 * 60_000;
    void world.bridge.sweep();
    await reached.opened;
    const resuming = chat.resumeStream();
    while (!said().includes("Too late.")) await new Promise((resolve) => setImmediate(resolve));
    go.open();
    await resuming;
    await settled();
    expect(tools().map(({ state }) => state)).not.toContain("approval-requested");
    expect(errors).toEqual([]);
    expect(world.payments).toEqual([]);
  });

  test("several requests at once do not mix", async () => {
    const world = await openWorld();
    const client = await openSocket(world);
    const send = (requestId: string, id: string) => ({
      type: "send",
      requestId,
      id,
      trigger: "submit-message",
      messages: [userMessage("hello")],
      headers: {},
      body: {},
    });
    client.send(send("a", "chat-a"), send("b", "chat-b"), send("c", "chat-c"));
    const { controls } = await client.until(
      ({ controls: got }) => got.filter(({ type }) => type === "end").length === 3,
    );
    for (const requestId of ["a", "b", "c"]) {
      const mine = controls.filter((frame) => frame["requestId"] === requestId);
      expect(mine.at(-1)).toEqual({ type: "end", requestId });
      expect(mine.slice(0, -1).map((frame) => frame["sequence"])).toEqual([...mine.slice(0, -1).keys()]);
    }
  });

  test("uses one wire per socket", async () => {
    const world = await openWorld();
    const client = await openSocket(world);
    client.send({ type: "resume", requestId: "r", id: "chat-1" }, { type: "ping", timestamp: 1 });
    const { controls } = await client.until(({ controls: got }) => got.length === 2);
    expect(controls).toMatchObject([
      { type: "no-active", requestId: "r" },
      { type: "error", requestId: "", errorText: expect.stringContaining("AI SDK") },
    ]);
    const chatWire = await openSocket(world);
    chatWire.send({ type: "ping", timestamp: 1 }, { type: "resume", requestId: "r", id: "chat-1" });
    expect((await chatWire.turn()).chunks).toMatchObject([
      { type: "error", errorText: expect.stringContaining("chose the chat wire") },
    ]);
  });
});

describe("special cases of the chat wire", () => {
  test("a socket gets a chat of its own if its messages name none", async () => {
    const world = await openWorld();
    const [client, other] = [await openSocket(world), await openSocket(world)];
    client.send({ type: "message", version: "1.0", data: { messages: [{ role: "user", content: "pay" }] } });
    const question = await client.until(({ chunks }) => chunks.at(-1)?.type === "finish-step");
    other.send({ type: "message", messages: [{ role: "user", content: "hello" }] });
    expect(textOf(await other.turn())).toBe("Hello there, friend.");
    client.send({ type: "tool_result", toolCallId: asked(question).approvalId, result: { confirmed: true } });
    expect(sequence(await client.turn())).toMatch(/toa ss text fs finish \[DONE\]$/);
    client.send({ type: "message", messages: [{ role: "user", content: "hello" }] });
    await client.turn();
    expect(world.payments).toHaveLength(1);
    expect(world.gemini.requests.at(-1)!.contents.length).toBeGreaterThan(3);
  });

  test("the reply to one of two answers ends with a finished step, so that a simple client knows it can continue", async () => {
    const world = await openWorld();
    const client = await openSocket(world);
    client.send(message("two payments"));
    const question = await client.until(({ chunks }) => chunks.at(-1)?.type === "finish-step");
    const [first, second] = [asked(question, 0), asked(question, 1)];
    client.send({ type: "tool_result", toolCallId: first.approvalId, result: { confirmed: true } });
    const half = await client.until(({ chunks }) => chunks.at(-1)?.type === "finish-step");
    expect(sequence(half)).toBe("toa ss fs");
    client.send({ type: "tool_result", toolCallId: second.approvalId, result: { confirmed: false } });
    const rest = await client.turn();
    expect(sequence(rest)).toBe("tod ss text fs finish [DONE]");
    for (const [, major] of majors) {
      const stream = new ReadableStream<UIMessageChunk>({
        start(controller) {
          for (const { chunks } of [question, half, rest])
            for (const chunk of chunks) controller.enqueue(structuredClone(chunk));
          controller.close();
        },
      });
      const read: UIMessage[] = [];
      for await (const next of major.readUIMessageStream({ stream, terminateOnError: true })) read.push(next);
      expect(toolParts(major, read.at(-1)!).map(({ state }) => state)).toEqual(["output-available", "output-denied"]);
      expect(wordsOf(read.at(-1)!)).toBe(textOf(rest));
    }
  });

  test("with sequence=1 one of two answers ends with `parked`, and needs no step of its own", async () => {
    const world = await openWorld();
    const client = await openSocket(world, "?sequence=1");
    const isParked = ({ controls }: { controls: readonly { type: string }[] }) =>
      controls.some(({ type }) => type === "parked");
    client.send(message("two payments"));
    const question = await client.until(isParked);
    client.send({ type: "tool_result", toolCallId: asked(question, 0).approvalId, result: { confirmed: true } });
    expect(sequence(await client.until(isParked))).toBe("toa");
    client.send({ type: "tool_result", toolCallId: asked(question, 1).approvalId, result: { confirmed: false } });
    expect(sequence(await client.turn())).toBe("tod ss text fs finish [DONE]");
  });

  test("a socket gets [DONE] for the first reply when it switches to another chat", async () => {
    const held = gate();
    const world = await openWorld({
      rules: [{ when: /count/, say: [text("one two"), pause(held.opened), text("three")] }, ...payRules],
    });
    const client = await openSocket(world);
    client.send(message("count"));
    await client.until(({ chunks }) => chunks.some(({ type }) => type === "text-delta"));
    client.send(message("hello", { id: "chat-2" }));
    const both = await client.until(({ done }) => done === 2);
    expect(sequence(both)).toBe("start ss text fs finish [DONE] [DONE]");
    held.open();
  });
});

describe("a chat that continues", () => {
  test.each([
    ["by tool_result", true],
    ["outside the chat", false],
  ])(
    "accepts the answers to two older questions one by one, %s, and the model responds after the last",
    async (_how, bySocket) => {
      const world = await openWorld();
      const client = await openSocket(world, "?sequence=1");
      client.send(message("two payments"));
      const question = await client.until(({ controls }) => controls.some(({ type }) => type === "parked"));
      client.send(message("hello"));
      await client.turn();
      const [first, second] = [asked(question, 0).approvalId, asked(question, 1).approvalId];
      const answer = async (id: string, confirmed: boolean) => {
        if (bySocket) client.send({ type: "tool_result", toolCallId: id, result: { confirmed } });
        else await decide(world, id, confirmed);
        return client.turn();
      };
      expect(sequence(await answer(second, false))).toBe("start ss fs finish [DONE]");
      const last = await answer(first, true);
      expect(sequence(last)).toBe("start ss fs ss text fs finish [DONE]");
      expect(textOf(last)).toContain("rejected");
      expect(textOf(last)).toContain('"paid":30');
      expect(world.payments).toEqual([{ amount: 30, recipient: "Alice" }]);
      client.send(message("hello"));
      expect(textOf(await client.turn())).toBe("Hello there, friend.");
    },
  );

  test("regenerates a reply once if the same request arrives twice", async () => {
    const world = await openWorld();
    const client = await openSocket(world, "?sequence=1");
    client.send(message("hello"));
    await client.turn();
    const regenerate = { ...message("hello"), trigger: "regenerate-message", requestId: "r-1" };
    client.send(regenerate);
    client.send({ ...regenerate, resend: true });
    await client.until(({ controls }) => controls.filter(({ type }) => type === "accepted").length === 2);
    await idle(world);
    expect(world.gemini.requests).toHaveLength(2);
  });

  const isAccepted = ({ type }: Control) => type === "accepted";
  const hasAccepted = ({ controls }: LiveReceived) => controls.some(isAccepted);

  test("regenerates a reply once if the same request arrives again after a restart", async () => {
    const world = await openWorld();
    const client = await openSocket(world, "?sequence=1");
    client.send(message("hello"));
    await client.turn();
    const regenerate = { ...message("hello"), trigger: "regenerate-message", requestId: "r-1" };
    client.send(regenerate);
    const first = await client.until(hasAccepted);
    await idle(world);
    await world.restart();
    const again = await openSocket(world, "?sequence=1");
    again.send({ ...regenerate, resend: true });
    const second = await again.until(hasAccepted);
    await idle(world);
    expect(second.controls.filter(isAccepted)).toEqual(first.controls.filter(isAccepted));
    expect(world.gemini.requests).toHaveLength(2);
  });

  test("regenerates the replies of two chats, even if both requests have the same id", async () => {
    const world = await openWorld();
    const client = await openSocket(world, "?sequence=1");
    for (const id of ["chat-1", "chat-2"]) {
      client.send({ ...message("hello"), id });
      await client.turn();
    }
    for (const id of ["chat-1", "chat-2"]) {
      client.send({ ...message("hello"), id, trigger: "regenerate-message", requestId: "r-1" });
      await client.turn();
    }
    expect(world.gemini.requests).toHaveLength(4);
  });

  test("gives a new reply to an edited message", async () => {
    const world = await openWorld();
    const client = await openSocket(world);
    const said = userMessage("hello", "um");
    client.send({ type: "message", id: "chat-1", messages: [said] });
    await client.turn();
    const changed = { ...said, parts: [{ type: "text", text: "weather" }] };
    client.send({ type: "message", id: "chat-1", messages: [changed], messageId: "um" });
    expect(sequence(await client.turn())).toBe("start ss tis tia toa fs ss text fs finish [DONE]");
  });
});
