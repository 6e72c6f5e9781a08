import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { WebSocket } from "ws";
import { SocketWriter } from "./socket-writer.ts";

/** A socket whose frames leave when the test says so. */
function openWriter() {
  const clock = { now: 0 };
  const waiting: (() => void)[] = [];
  const socket = {
    OPEN: 1,
    readyState: 1,
    bufferedAmount: 0,
    send(text: string, sent: () => void) {
      socket.bufferedAmount += text.length;
      waiting.push(() => {
        socket.bufferedAmount -= text.length;
        sent();
      });
    },
  };
  const writer = new SocketWriter(socket as unknown as WebSocket, new PassThrough(), () => clock.now);
  return { clock, socket, writer, leave: () => waiting.shift()?.(), waiting };
}

/** Whether a promise is over by now. */
async function isOver(promise: Promise<void>): Promise<boolean> {
  return Promise.race([promise.then(() => true), new Promise<boolean>((resolve) => setImmediate(resolve, false))]);
}

test("is flushed when the last frame has left, and at once when there is none", async () => {
  const { writer, leave } = openWriter();
  expect(await isOver(writer.flushed())).toBe(true);
  writer.send("a");
  writer.send("b");
  const flushed = writer.flushed();
  leave();
  expect(await isOver(flushed)).toBe(false);
  leave();
  expect(await isOver(flushed)).toBe(true);
});

test("is full when much waits", () => {
  const { writer, leave } = openWriter();
  writer.send("x".repeat(70_000));
  expect(writer.isFull).toBe(true);
  leave();
  expect(writer.isFull).toBe(false);
});

test("is stalled when something waits and nothing leaves", () => {
  const { clock, writer, leave } = openWriter();
  clock.now = 1000;
  expect(writer.isStalled(clock.now, 10)).toBe(false);
  writer.send("a");
  writer.send("b");
  expect(writer.isStalled(1009, 10)).toBe(false);
  expect(writer.isStalled(1010, 10)).toBe(true);
  clock.now = 1008;
  leave();
  expect(writer.isStalled(1010, 10)).toBe(false);
  leave();
  expect(writer.isStalled(9999, 10)).toBe(false);
});

test("wakes those that wait when the socket is closed, and sends nothing more", async () => {
  const { socket, writer, leave, waiting } = openWriter();
  writer.send("a");
  const flushed = writer.flushed();
  socket.readyState = 3;
  writer.close();
  expect(await isOver(flushed)).toBe(true);
  writer.send("b");
  expect(waiting).toHaveLength(1);
  leave();
  expect(writer.isStalled(Infinity, 1)).toBe(false);
});
