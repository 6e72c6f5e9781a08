import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { ErrorCode } from "../protocol/index.ts";
import { createHandler, errorResponse, type HandlerOptions } from "./handler.ts";

export interface ListenOptions extends HandlerOptions {
  /** Default 3000; 0 picks a free one. */
  port?: number;
  /** Default 127.0.0.1. Any other than this machine's own needs `authenticate`. */
  host?: string;
}

export interface Listening {
  url: string;
  port: number;
  /** Ends open responses and stops listening. */
  close(): Promise<void>;
}

/** The handler behind `node:http`. */
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
  const server = createServer(limits, (incoming, outgoing) => {
    const { socket } = incoming;
    answering.add(socket);
    outgoing.once("close", () => answering.delete(socket));
    serve(incoming, outgoing, handle).catch(() => outgoing.destroy());
  });
  // A reader that takes nothing for this long, not even keep-alives, is let go: it can resume from the log.
  server.timeout = 60_000;
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || answering.has(socket)) return socket.destroy();
    socket.end(refusal(error.code));
    return setTimeout(() => socket.destroy(), 1000).unref();
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${bound}`,
    port: bound,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
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

function toRequest(incoming: IncomingMessage): Request | undefined {
  const { method = "GET", url = "/", headers } = incoming;
  if (headers.host === undefined) return undefined;
  try {
    const flat = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
    );
    const hasBody = method !== "GET" && method !== "HEAD";
    return new Request(new URL(url, `http://${headers.host}`), {
      method,
      headers: flat,
      ...(hasBody && { body: bodyOf(incoming), duplex: "half" }),
    });
  } catch {
    return undefined;
  }
}

/**
 * A body that is read when somebody wants it. When it is left early, the rest is read and thrown away: with
 * `Readable.toWeb` it would stay in the connection, and the client's next request would wait behind it.
 */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  let pieces: AsyncIterator<Uint8Array, undefined> | undefined;
  const source: UnderlyingDefaultSource<Uint8Array> = {
    async pull(controller) {
      pieces ??= incoming.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array, undefined>;
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await pieces?.return?.();
      incoming.resume();
    },
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}

/** What is too broken to become a request is answered here, in the same words. */
function refusal(reason: string | undefined): string {
  const [status, code, message] =
    reason === "HPE_HEADER_OVERFLOW"
      ? (["431 Request Header Fields Too Large", "too_large", "The headers are larger than 16 KiB."] as const)
      : reason === "ERR_HTTP_REQUEST_TIMEOUT"
        ? (["408 Request Timeout", "malformed", "The request did not arrive in time."] as const)
        : (["400 Bad Request", "malformed", "This is not an HTTP request."] as const);
  const body = JSON.stringify({ code, message } satisfies { code: ErrorCode; message: string });
  const headers = [
    "content-type: application/json; charset=utf-8",
    `content-length: ${body.length}`,
    "connection: close",
  ];
  return [`HTTP/1.1 ${status}`, ...headers, "", body].join("\r\n");
}
