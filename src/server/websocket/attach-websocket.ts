import type { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { consoleLogger, metrics } from "../../agent/index.ts";
import { BridgeError } from "../../protocol/index.ts";
import { checkGuardOptions, defaultMaxBodyBytes, type HandlerOptions, refuseConnection } from "../http/index.ts";
import { checkBasePath } from "../mount-path.ts";
import { maxHistoryBytes } from "../read-chat.ts";
import { malformedRequest, toRefusal } from "../refusal.ts";
import { ServerBounds } from "../server-bounds.ts";
import type { SocketLimits } from "../server-limits.ts";
import { toRequest } from "../to-request.ts";
import { AtOnce } from "./at-once.ts";
import { ChatArrivals } from "./chat-arrivals.ts";
import { type Handshake, readHandshake } from "./handshake.ts";
import { SentMessages } from "./sent-messages.ts";
import { SocketConnection } from "./socket-connection.ts";
import type { SocketShared } from "./socket-shared.ts";
import { UpgradeListeners } from "./upgrade-listeners.ts";

/** The WebSocket of a server. */
export interface WebSocketEndpoint {
  /** Closes every socket and accepts no new ones. Does not close the server. */
  close(): Promise<void>;
}

/** How many heartbeats may authenticate at once. Those of many sockets are due together. */
const heartbeatsAtOnce = 64;

/** When a client that got no socket may try again. */
const socketSeconds = 5;

/** How long a client may take to reply to a close frame. */
const closingMs = 1000;

/**
 * Accepts WebSockets at `/live`, below the `basePath` of the options or below any path. The server is one of `node:http`
 * or `node:https`. `listen` does this by itself. Upgrades of other paths are left to the server's other listeners.
 */
export function attachWebSocket(
  server: EventEmitter,
  options: HandlerOptions,
  bounds: ServerBounds = new ServerBounds(options),
): WebSocketEndpoint {
  checkGuardOptions(options);
  checkBasePath(options.basePath);
  const upgrades = UpgradeListeners.of(server);
  upgrades.add(onUpgrade, options.basePath);
  const { bridge, logger = consoleLogger, maxBodyBytes = defaultMaxBodyBytes } = options;
  const { limits } = bounds;
  const connections = new Map<WebSocket, SocketConnection>();
  const bySocket = new WeakMap<Duplex, SocketConnection>();
  /** How many sockets each owner has. */
  const owners = new Map<string, number>();
  /** Connections whose handshake is being checked. */
  const handshaking = new Set<Duplex>();
  let timer: NodeJS.Timeout | undefined;
  let closing: Promise<void> | undefined;

  const shared: SocketShared = {
    bridge,
    logger,
    bounds,
    arrivals: new ChatArrivals(),
    sent: new SentMessages(bridge),
    heartbeats: new AtOnce(heartbeatsAtOnce),
    maxBodyBytes,
    now: () => performance.now(),
  };
  const maxFrameBytes = Math.max(maxHistoryBytes, maxBodyBytes);
  // The types of `ws` do not know this option yet.
  const untyped = { closeTimeout: closingMs };
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    // The connection counts pings and replies to them: a client must not make the server write more than it reads.
    autoPong: false,
    maxPayload: maxFrameBytes,
    // What is read of a frame is checked when it is read. Checking a whole history at once would hold the event loop.
    skipUTF8Validation: true,
    // A large message over a slow link comes in many fragments, but not in as many as an attacker could send.
    maxFragments: Math.max(64, Math.ceil(maxFrameBytes / 4096)),
    maxBufferedChunks: Math.max(1024, Math.ceil(maxFrameBytes / 512)),
    ...untyped,
  });
  sockets.on("wsClientError", (error, stream) =>
    refuseConnection(stream, {
      code: "malformed",
      message: `This is not a valid WebSocket handshake: ${error.message}.`,
    }),
  );

  const { stopping } = bridge;
  stopping.addEventListener("abort", onStopping);
  return { close: () => (closing ??= closeAll()) };

  function onUpgrade(incoming: IncomingMessage, stream: Duplex, head: Buffer): void {
    if (!upgrades.isFor(onUpgrade, incoming.url ?? "")) return;
    stream.on("error", destroy);
    handshaking.add(stream);
    check(incoming)
      .then((handshake) => {
        if (!stream.destroyed) accept(incoming, stream, head, handshake);
      })
      .catch((error: unknown) => refuseConnection(stream, toRefusal(error, logger, "A handshake failed.")))
      .finally(() => handshaking.delete(stream));
  }

  /** Everything that is checked before the handshake is accepted. */
  async function check(incoming: IncomingMessage): Promise<Handshake> {
    if (connections.size + handshaking.size > limits.sockets) throw full();
    const request = toRequest(incoming);
    if (!request) throw new BridgeError(malformedRequest.code, malformedRequest.message);
    return readHandshake(request, options);
  }

  function accept(incoming: IncomingMessage, stream: Duplex, head: Buffer, handshake: Handshake): void {
    const { owner } = handshake.identity;
    // Counted here, because between this check and `connections.set` nothing else runs.
    if ((owners.get(owner) ?? 0) >= limits.socketsPerOwner)
      throw new BridgeError(
        "too_many",
        `The limit of ${limits.socketsPerOwner} open sockets per owner is reached. Close one first.`,
        { retryAfter: socketSeconds },
      );
    if (connections.size >= limits.sockets) throw full();
    stopping.throwIfAborted();
    if (closing) throw new BridgeError("unavailable", "The server is stopping. Try again in a moment.");
    sockets.handleUpgrade(incoming, stream, head, (socket) => {
      // Over TCP and TLS the upgraded stream is a `Socket`.
      const connection = new SocketConnection(socket, stream as Socket, handshake, shared);
      connections.set(socket, connection);
      owners.set(owner, (owners.get(owner) ?? 0) + 1);
      metrics.connections.sockets.add(1);
      timer ??= setInterval(tick, tickMs(limits)).unref();
      socket.on("message", onMessage);
      socket.on("ping", onPing);
      socket.on("pong", onPong);
      // `ws` closes the socket after a protocol error, so `close` follows in every case.
      socket.on("error", ignore);
      socket.on("close", onClose);
      bySocket.set(stream, connection);
      stream.on("data", onData);
    });
  }

  // All sockets share these listeners: closures for each socket would cost memory, and most sockets are idle.
  function onMessage(this: WebSocket, data: RawData, isBinary: boolean): void {
    connections.get(this)?.onMessage(data as Buffer, isBinary);
  }

  // Comes after the listener of `ws`, which has read the frames that are complete.
  function onData(this: Duplex): void {
    bySocket.get(this)?.onData();
  }

  function onPing(this: WebSocket, data: Buffer): void {
    connections.get(this)?.onPing(data);
  }

  function onPong(this: WebSocket, data: Buffer): void {
    connections.get(this)?.onPong(data);
  }

  function onClose(this: WebSocket): void {
    const connection = connections.get(this);
    if (!connection) return;
    const { owner } = connection;
    connections.delete(this);
    metrics.connections.sockets.add(-1);
    const others = (owners.get(owner) ?? 1) - 1;
    if (others > 0) owners.set(owner, others);
    else owners.delete(owner);
    if (connections.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
    connection.onClose();
  }

  function tick(): void {
    for (const connection of connections.values()) connection.onTick();
  }

  /** What a socket would follow goes on elsewhere. 1012 tells its client to connect again at once. */
  function onStopping(): void {
    for (const connection of connections.values()) connection.close(1012, "The server restarts. Connect again.");
  }

  async function closeAll(): Promise<void> {
    stopping.removeEventListener("abort", onStopping);
    upgrades.remove(onUpgrade);
    for (const stream of handshaking) stream.destroy();
    const gone = [...connections.keys()].map((socket) => new Promise((resolve) => socket.once("close", resolve)));
    for (const connection of connections.values()) connection.close(1001, "The server is stopping.");
    await Promise.all(gone);
  }
}

function full(): BridgeError {
  return new BridgeError("unavailable", "The limit of open sockets of this server is reached. Try again in a moment.", {
    retryAfter: socketSeconds,
  });
}

function ignore(): void {}

/** After the upgrade, `node:http` no longer handles errors of the connection. */
function destroy(this: Duplex): void {
  this.destroy();
}

/** Half of the shortest limit, so that none is exceeded by more than half of its length. */
function tickMs({ stallMs, heartbeatMs, silenceMs }: SocketLimits): number {
  return Math.max(5, Math.min(stallMs, heartbeatMs, silenceMs) / 2);
}
