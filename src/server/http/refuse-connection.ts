import type { Duplex } from "node:stream";
import { STATUS_CODES } from "node:http";
import { errorTable, retryAfterOf } from "../../protocol/index.ts";
import type { Refusal } from "../refusal.ts";

/**
 * Replies with an HTTP error on a connection that has no `ServerResponse`, and ends it: one that sent no valid request,
 * or whose WebSocket handshake is refused.
 */
export function refuseConnection(
  socket: Duplex,
  { code, message, retryAfter, status = errorTable[code].status }: Refusal & { status?: number },
): void {
  const seconds = retryAfterOf(code, retryAfter);
  const body = Buffer.from(JSON.stringify({ code, message }));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    "content-type: application/json; charset=utf-8",
    "cache-control: no-store",
    "x-content-type-options: nosniff",
    `content-length: ${body.length}`,
    ...(seconds === undefined ? [] : [`retry-after: ${seconds}`]),
    "connection: close",
  ];
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  socket.end(Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), body]));
  // A client that does not read the reply must not keep the connection open.
  const timer = setTimeout(() => socket.destroy(), 1000).unref();
  socket.once("close", () => clearTimeout(timer));
}
