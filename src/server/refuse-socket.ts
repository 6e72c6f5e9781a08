import type { Duplex } from "node:stream";
import { STATUS_CODES } from "node:http";
import type { ErrorCode } from "../protocol/index.ts";

/** Answers on a bare connection that never became a request, or must not become a WebSocket, and ends it. */
export function refuseSocket(
  socket: Duplex,
  { status, code, message }: { status: number; code: ErrorCode; message: string },
): void {
  const body = Buffer.from(JSON.stringify({ code, message }));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    "content-type: application/json; charset=utf-8",
    "cache-control: no-store",
    "x-content-type-options: nosniff",
    `content-length: ${body.length}`,
    "connection: close",
  ];
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  socket.end(Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), body]));
  // Whoever does not take the answer does not keep the connection.
  const timer = setTimeout(() => socket.destroy(), 1000).unref();
  socket.once("close", () => clearTimeout(timer));
}
