import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { ErrorCode } from "../protocol/index.ts";
import { createHandler, errorResponse } from "./handler.ts";
import { attachLive, type LiveOptions } from "./live.ts";
import { refuseSocket } from "./refuse-socket.ts";
import { toRequest } from "./to-request.ts";

export interface ListenOptions extends LiveOptions {
  /** Default 3000; 0 picks a free one. */
  port?: number;
  /** Default 127.0.0.1. Any other than this machine's own needs `authenticate`. */
  host?: string;
}

export interface Listening {
  url: string;
  port: number;
  /** Ends open responses and sockets, and stops listening. */
  close(): Promise<void>;
}

/** The handler behind `node:http`, and the sockets of `WS /live`. */
export async function listen(options: ListenOptions): Promise<Listening> {
  const { host = "127.0.0.1", port = 3000, authenticate } = options;
  if (!authenticate && !["127.0.0.1", "localhost", "::1"].includes(host))
    throw new Error(
      `Listening on ${host} needs an authenticate hook: without one, anybody who reaches it could approve.`,
    );
  const handle = createHandler(options);
  const answering = new WeakSet<Duplex>();
  // A client gets this long to say what it wants, so that half requests cannot pile up. A missing Host is refused below.
  const limits = { headersTimeout: 15_000, requestTimeout: 60_000, requireHostHeader: false };
  // Whoever offers another protocol than WebSocket (curl offers HTTP/2) is answered over this one.
  const shouldUpgradeCallback = ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === "websocket";
  const server = createServer({ ...limits, shouldUpgradeCallback }, (incoming, outgoing) => {
    const { socket } = incoming;
    answering.add(socket);
    outgoing.once("close", () => answering.delete(socket));
    serve(incoming, outgoing, handle).catch(() => outgoing.destroy());
  });
  // A reader that takes nothing for this long, not even keep-alives, is let go: it can resume from the log.
  server.timeout = 60_000;
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (answering.has(socket)) socket.destroy();
    else refuseSocket(socket, refusal(error.code));
  });
  const live = attachLive(server, options);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${bound}`,
    port: bound,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await Promise.all([closed, live.close()]);
    },
  };
}

async function serve(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  handle: (request: Request) => Promise<Response>,
): Promise<void> {
  const request = toRequest(incoming);
  const response = request
    ? await handle(request)
    : errorResponse("malformed", "The request line or a header is not valid.");
  if (outgoing.destroyed) return response.body?.cancel();
  // AI SDK's headers say keep-alive, but whether a connection stays is between the client and the server.
  outgoing.writeHead(response.status, [...response.headers].filter(([name]) => name !== "connection").flat());
  if (!response.body) {
    outgoing.end();
    return;
  }
  outgoing.flushHeaders();
  const reader = response.body.getReader();
  // Cancelling ends a read that waits, and with it this loop.
  outgoing.once("close", () => void reader.cancel().catch(() => undefined));
  for (let read = await reader.read(); !read.done; read = await reader.read())
    if (!outgoing.write(read.value) && !outgoing.destroyed) await drained(outgoing);
  outgoing.end();
}

/** When there is room again, or nobody to write to. */
function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      outgoing.off("drain", done).off("close", done);
      resolve();
    };
    outgoing.on("drain", done).on("close", done);
  });
}

/** What is too broken to become a request is answered here, in the same words. */
function refusal(reason: string | undefined): { status: number; code: ErrorCode; message: string } {
  switch (reason) {
    case "HPE_HEADER_OVERFLOW":
      return { status: 431, code: "too_large", message: "The headers are larger than 16 KiB." };
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return { status: 408, code: "malformed", message: "The request did not arrive in time." };
    default:
      return { status: 400, code: "malformed", message: "This is not an HTTP request." };
  }
}
