import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { createHandler, type HandlerOptions, refuseConnection } from "./http/index.ts";
import type { Refusal } from "./refusal.ts";
import { ServerBounds } from "./server-bounds.ts";
import { toNodeHandler } from "./to-node-handler.ts";
import { attachWebSocket } from "./websocket/index.ts";

/** How long `close` waits for replies after the bridge was closed. */
const repliesMs = 2000;

/** How `listen` serves a bridge: the options of `createHandler`, and where to listen. */
export interface ListenOptions extends HandlerOptions {
  /** The port; 0 picks a free one. Default 3000. */
  port?: number;
  /** The address. Any address that other machines can reach needs `authenticate`. Default 127.0.0.1. */
  host?: string;
}

/** A server that listens. */
export interface Listening {
  /** Its address, such as `http://127.0.0.1:3000`. */
  url: string;
  /** The port, also if a free one was picked. */
  port: number;
  /**
   * Serves other options from now on, for example another bridge. `prepare` returns them; requests that come meanwhile wait
   * for it. If it rejects, or the options are not valid for this address, the old options stay. WebSockets are closed, and
   * their clients connect again. Replacements are made one after the other. Rejects if the server is closed meanwhile;
   * then nothing uses the options.
   */
  replace(prepare: () => Promise<HandlerOptions>): Promise<void>;
  /**
   * Stops listening, and ends open responses and sockets. If the bridge was closed before, replies that are being made get
   * two seconds to end.
   */
  close(): Promise<void>;
}

/**
 * Serves the routes of `createHandler` and the WebSocket of `attachWebSocket` on a `node:http` server of its own.
 *
 * To stop, close the bridge first and the server last: meanwhile `GET /ready` has status 503, so that a load balancer
 * sends requests elsewhere, and clients are told to come back instead of meeting a closed port.
 */
export async function listen(given: ListenOptions): Promise<Listening> {
  // The server has no other routes than these, so nothing has to be found below other paths.
  const options = { ...given, basePath: given.basePath ?? "/" };
  const { host = "127.0.0.1", port = 3000 } = options;
  checkReach(host, options);
  const bounds = new ServerBounds(options);
  let current: HandlerOptions = options;
  let handle = createHandler(options, bounds);
  /** Settles when no replacement is being made; undefined if none is. Never rejects. */
  let replacing: Promise<void> | undefined;
  let isClosed = false;
  const respond = toNodeHandler(async (request) => {
    // oxlint-disable-next-line no-unmodified-loop-condition -- `replace` changes it while this waits
    while (replacing) await replacing;
    return handle(request);
  });
  /** Connections on which a response is being written. */
  const replying = new Set<Duplex>();
  let onReplied = () => {};
  // Bounds how long a request may take to arrive, so that half requests cannot pile up. `toRequest` checks the Host.
  const limits = { headersTimeout: 15_000, requestTimeout: 60_000, requireHostHeader: false };
  // Longer than balancers keep connections that no one uses: one that sends a request over a connection which is just being
  // closed replies with an error. Node's own limit is five seconds.
  const keepAliveTimeout = 75_000;
  // A client that offers another protocol than WebSocket (curl offers HTTP/2) gets its reply over HTTP/1.1.
  const shouldUpgradeCallback = ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === "websocket";
  const server = createServer({ ...limits, keepAliveTimeout, shouldUpgradeCallback }, (incoming, outgoing) => {
    const { socket } = incoming;
    replying.add(socket);
    outgoing.once("close", () => {
      replying.delete(socket);
      onReplied();
    });
    // The client's next request should find another process.
    if (current.bridge.stopping.aborted) outgoing.shouldKeepAlive = false;
    respond(incoming, outgoing);
  });
  // A reader that takes nothing for this long, not even keep-alive comments, is disconnected. It can resume.
  server.timeout = 60_000;
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (replying.has(socket)) socket.destroy();
    else refuseConnection(socket, toRefusal(error.code));
  });
  let endpoint = attachWebSocket(server, options, bounds);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${bound}`,
    port: bound,
    replace(prepare) {
      const replaced = (replacing ?? Promise.resolve()).then(() => replace(prepare));
      const settled: Promise<void> = replaced
        .catch(() => undefined)
        .then(() => {
          if (replacing === settled) replacing = undefined;
        });
      replacing = settled;
      return replaced;
    },
    async close() {
      isClosed = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      if (current.bridge.stopping.aborted) await replied();
      server.closeAllConnections();
      await Promise.all([closed, endpoint.close()]);
    },
  };

  /** Resolves when no response is being written, or after a while. */
  function replied(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, repliesMs);
      onReplied = () => {
        if (replying.size > 0) return;
        clearTimeout(timer);
        resolve();
      };
      onReplied();
    });
  }

  async function replace(prepare: () => Promise<HandlerOptions>): Promise<void> {
    refuseWhenClosed();
    await endpoint.close();
    try {
      const next = { ...(await prepare()), basePath: options.basePath };
      refuseWhenClosed();
      checkReach(host, next);
      handle = createHandler(next, bounds);
      current = next;
    } finally {
      // `close` has closed the endpoint that it found, and would not know of another one.
      if (!isClosed) endpoint = attachWebSocket(server, current, bounds);
    }
  }

  function refuseWhenClosed(): void {
    if (isClosed) throw new Error("The server is closed, so its options cannot be replaced.");
  }
}

/** Throws if other machines can reach the address and the options do not say who may do something. */
function checkReach(host: string, { authenticate }: HandlerOptions): void {
  if (authenticate || ["127.0.0.1", "localhost", "::1"].includes(host)) return;
  throw new Error(
    `Listening on ${host} needs an authenticate hook: without one, anyone who reaches it could approve calls.`,
  );
}

/** The reply to input that `node:http` cannot read as a request, by the code of its error. */
function toRefusal(reason: string | undefined): Refusal & { status: number } {
  switch (reason) {
    case "HPE_HEADER_OVERFLOW":
      return { status: 431, code: "too_large", message: "The headers are larger than 16 KiB." };
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return { status: 408, code: "malformed", message: "The request did not arrive in time." };
    default:
      return { status: 400, code: "malformed", message: "This is not a valid HTTP request." };
  }
}
