import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
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
    throw new Error(`Listening on ${host} needs an authenticate hook: without one, anybody who reaches it could approve.`);
  const handle = createHandler(options);
  // A client gets this long to say what it wants, so that half requests cannot pile up.
  const server = createServer({ headersTimeout: 15_000, requestTimeout: 60_000 }, (incoming, outgoing) => {
    serve(incoming, outgoing, handle).catch(() => outgoing.destroy());
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

async function serve(incoming: IncomingMessage, outgoing: ServerResponse, handle: (request: Request) => Promise<Response>): Promise<void> {
  const request = toRequest(incoming);
  const response = request ? await handle(request) : errorResponse("malformed", "The request line or a header is not valid.");
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (!response.body) {
    outgoing.end();
    return;
  }
  outgoing.flushHeaders();
  const reader = response.body.getReader();
  outgoing.once("close", () => void reader.cancel().catch(() => undefined));
  for (;;) {
    const { done, value } = await reader.read();
    if (done || outgoing.destroyed) break;
    if (!outgoing.write(value)) await new Promise<void>((resolve) => outgoing.once("drain", resolve).once("close", resolve));
  }
  outgoing.end();
}

function toRequest(incoming: IncomingMessage): Request | undefined {
  const { method = "GET", url = "/", headers } = incoming;
  try {
    const flat = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
    );
    const hasBody = method !== "GET" && method !== "HEAD";
    return new Request(new URL(url, `http://${headers.host ?? "localhost"}`), {
      method,
      headers: flat,
      ...(hasBody && { body: Readable.toWeb(incoming) as ReadableStream<Uint8Array>, duplex: "half" }),
    } as RequestInit);
  } catch {
    return undefined;
  }
}
