import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { refuseConnection } from "./refuse-connection.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const refusal = { code: "forbidden", message: "Not „you“." } as const;

test("writes a whole HTTP response with the status of the code", () => {
  const socket = new PassThrough();
  refuseConnection(socket, refusal);
  const [head, body] = String(socket.read()).split("\r\n\r\n");
  expect(head).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
  expect(head).toContain("connection: close");
  expect(head).toContain(`content-length: ${Buffer.byteLength(body ?? "")}`);
  expect(JSON.parse(body ?? "")).toEqual(refusal);
});

test("may have a status of its own", () => {
  const socket = new PassThrough();
  refuseConnection(socket, { ...refusal, status: 431 });
  expect(String(socket.read())).toMatch(/^HTTP\/1\.1 431 /);
});

test("ends the connection of a client that does not read the reply", () => {
  const socket = new PassThrough({ allowHalfOpen: true });
  refuseConnection(socket, refusal);
  vi.advanceTimersByTime(999);
  expect(socket.destroyed).toBe(false);
  vi.advanceTimersByTime(1);
  expect(socket.destroyed).toBe(true);
});

test("ends a connection that cannot be written", () => {
  const socket = new PassThrough();
  socket.end();
  refuseConnection(socket, refusal);
  expect(socket.destroyed).toBe(true);
});
