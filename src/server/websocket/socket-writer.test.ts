import { Writable } from "node:stream";
import { expect, test } from "vitest";
import type { WebSocket } from "ws";
import { SocketWriter } from "./socket-writer.ts";

/** A socket whose writes leave when the test says so. */
function openWriter() {
  const clock = { now: 0 };
  const waiting: (() => void)[] = [];
  const written: string[] = [];
  const stream = new Writable({
    write(bytes: Buffer, _, done) {
      written.push(bytes.toString());
      waiting.push(done);
    },
  });
  const socket = { OPEN: 1, readyState: 1 };
  const writer = new SocketWriter(socket as WebSocket, stream, () => clock.now);
  return { clock, socket, writer, written, leave: () => waiting.shift()?.() };
}

/** Whether a promise is over by now. */
async function isOver(promise: Promise<void>): Promise<boolean> {
  return Promise.race([promise.then(() => true), new Promise<boolean>((resolve) => setImmediate(resolve, false))]);
}

const nextTick = () => new Promise<void>((resolve) => process.nextTick(resolve));

test("frames of one tick leave in one write, in order", async () => {
  const { writer, written, leave } = openWriter();
  writer.send("a");
  await Promise.resolve();
  writer.send("b");
  expect(written).toEqual([]);
  await nextTick();
  expect(written).toHaveLength(1);
  expect(written[0]).toMatch(/a.*b/s);
  writer.send("c");
  await nextTick();
  leave();
  await nextTick();
  expect(written[1]).toContain("c");
});

test("frames can be written before something else follows them", () => {
  const { writer, written } = openWriter();
  writer.send("a");
  writer.write();
  expect(written).toHaveLength(1);
  writer.write();
  expect(written).toHaveLength(1);
});

test("is flushed when the last frame has left, and at once when there is none", async () => {
  const { writer, leave } = openWriter();
  expect(await isOver(writer.flushed())).toBe(true);
  writer.send("a");
  const flushed = writer.flushed();
  await nextTick();
  writer.send("b");
  await nextTick();
  leave();
  expect(await isOver(flushed)).toBe(false);
  leave();
  expect(await isOver(flushed)).toBe(true);
});

test("is full when much waits, also in the tick in which it was sent", async () => {
  const { writer, leave } = openWriter();
  writer.send("x".repeat(70_000));
  expect(writer.isFull).toBe(true);
  await nextTick();
  expect(writer.isFull).toBe(true);
  leave();
  expect(writer.isFull).toBe(false);
});

test("is stalled when something waits and nothing leaves", async () => {
  const { clock, writer, leave } = openWriter();
  clock.now = 1000;
  expect(writer.isStalled(clock.now, 10)).toBe(false);
  writer.send("a");
  await nextTick();
  writer.send("b");
  await nextTick();
  expect(writer.isStalled(1009, 10)).toBe(false);
  expect(writer.isStalled(1010, 10)).toBe(true);
  clock.now = 1008;
  leave();
  await nextTick();
  expect(writer.isStalled(1010, 10)).toBe(false);
  leave();
  await nextTick();
  expect(writer.isStalled(9999, 10)).toBe(false);
});

test("wakes those that wait when the socket is closed, and sends nothing more", async () => {
  const { socket, writer, written } = openWriter();
  writer.send("a");
  const flushed = writer.flushed();
  socket.readyState = 3;
  writer.close();
  expect(await isOver(flushed)).toBe(true);
  writer.send("b");
  await nextTick();
  expect(written).toEqual([]);
  expect(writer.isStalled(Infinity, 1)).toBe(false);
});

test("frames that were sent before the socket began to close are not written after its close frame", async () => {
  const { socket, writer, written } = openWriter();
  writer.send("a");
  const flushed = writer.flushed();
  socket.readyState = 2;
  expect(await isOver(flushed)).toBe(true);
  expect(written).toEqual([]);
});
