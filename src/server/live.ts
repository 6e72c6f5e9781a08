import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { consoleLogger } from "../agent/index.ts";
import { BridgeError, errorTable } from "../protocol/index.ts";
import { ChatArrivals } from "./chat-arrivals.ts";
import { dialectOf } from "./dialect.ts";
import { guard } from "./guard.ts";
import { defaultMaxBodyBytes, type HandlerOptions, internalSentence } from "./handler.ts";
import { type Handshake, LiveConnection, type LiveShared } from "./live-connection.ts";
import type { ConnectionLimits, LiveLimits } from "./live-limits.ts";
import { refuseSocket } from "./refuse-socket.ts";
import { SentMessages } from "./sent-messages.ts";
import { toRequest } from "./to-request.ts";

export interface LiveOptions extends HandlerOptions {
  /** What sockets may do. The defaults suit people and pages. */
  limits?: Partial<LiveLimits>;
}

/** The sockets of a server. */
export interface Live {
  /** Says goodbye to every socket and takes no new ones. The server itself stays its owner's to close. */
  close(): Promise<void>;
}

const defaultLimits: LiveLimits = {
  frames: { size: 256, perSecond: 64 },
  stallMs: 30_000,
  heartbeatMs: 30_000,
  silenceMs: 30_000,
  sockets: 10_000,
  socketsPerOwner: 64,
};

/** How long a goodbye may take. */
const closingMs = 1000;

/** The servers that have a `/live`: two of them would answer each handshake twice. */
const taken = new WeakSet<Server>();

/** Takes the WebSocket handshakes of a `node:http` or `node:https` server at `/live`. `listen` does this by itself. */
export function attachLive(server: Server, options: LiveOptions): Live {
  if (taken.has(server)) throw new Error("This server has a /live already. Close that one first.");
  taken.add(server);
  const { bridge, logger = consoleLogger, maxBodyBytes = defaultMaxBodyBytes } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const connections = new Map<WebSocket, LiveConnection>();
  const owners = new Map<string, number>();
  /** Connections whose handshake is being looked at. */
  const arriving = new Set<Duplex>();
  let timer: NodeJS.Timeout | undefined;
  let closing: Promise<void> | undefined;

  const shared: LiveShared = {
    bridge,
    logger,
    limits,
    arrivals: new ChatArrivals(),
    sent: new SentMessages(bridge),
    now: () => performance.now(),
  };
  // How long a goodbye may stay unanswered; the types do not know it yet.
  const unanswered = { closeTimeout: closingMs };
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    // Pings are counted and answered by the connection: nobody may have us write more than they read.
    autoPong: false,
    maxPayload: maxBodyBytes,
    // A large message over a slow link comes in many pieces, but none of them as small as an attacker's.
    maxFragments: Math.max(64, Math.ceil(maxBodyBytes / 4096)),
    maxBufferedChunks: Math.max(1024, Math.ceil(maxBodyBytes / 512)),
    ...unanswered,
  });
  sockets.on("wsClientError", (error, stream) =>
    refuseSocket(stream, {
      status: 400,
      code: "malformed",
      message: `This is no WebSocket handshake: ${error.message}.`,
    }),
  );

  server.on("upgrade", onUpgrade);
  return { close: () => (closing ??= closeAll()) };

  function onUpgrade(incoming: IncomingMessage, stream: Duplex, head: Buffer): void {
    const isOurs = /^\/live(\?|$)/.test(incoming.url ?? "");
    // Somebody else's path is theirs to answer, if there is somebody else.
    if (!isOurs && server.listenerCount("upgrade") > 1) return;
    stream.on("error", destroy);
    arriving.add(stream);
    greet(incoming)
      .then((handshake) => {
        if (stream.destroyed) return;
        accept(incoming, stream, head, handshake);
      })
      .catch((error: unknown) => {
        if (!(error instanceof BridgeError))
          logger.error("A handshake failed.", { error: error instanceof Error ? error.stack : String(error) });
        const { code, message } =
          error instanceof BridgeError ? error : ({ code: "internal", message: internalSentence } as const);
        refuseSocket(stream, { status: errorTable[code].status, code, message });
      })
      .finally(() => arriving.delete(stream));
  }

  /** Everything that is decided before the handshake. */
  async function greet(incoming: IncomingMessage): Promise<Handshake> {
    if (connections.size + arriving.size > limits.sockets) throw full();
    const request = toRequest(incoming);
    if (!request) throw new BridgeError("malformed", "The request line or a header is not valid.");
    const owner = await guard(request, options, "change");
    const url = new URL(request.url);
    if (url.pathname !== "/live") throw new BridgeError("not_found", `There is nothing at ${url.pathname}.`);
    const modality = url.searchParams.get("modality") ?? "text";
    if (modality !== "text")
      throw new BridgeError("invalid", `modality must be "text"; ${JSON.stringify(modality)} is not offered yet.`);
    return { owner, confirmation: dialectOf(url, options), numbered: url.searchParams.get("sequence") === "1" };
  }

  function accept(incoming: IncomingMessage, stream: Duplex, head: Buffer, handshake: Handshake): void {
    const { owner } = handshake;
    // Counted here, where nothing comes between looking and adding.
    // Without authentication everybody is the same owner.
    if (options.authenticate && (owners.get(owner) ?? 0) >= limits.socketsPerOwner)
      throw new BridgeError("too_many", `${limits.socketsPerOwner} sockets are open already. Close one first.`);
    if (connections.size >= limits.sockets) throw full();
    if (closing) throw new BridgeError("unavailable", "The server is stopping. Try again in a moment.");
    sockets.handleUpgrade(incoming, stream, head, (socket) => {
      // Over TCP or TLS, an upgraded stream is a socket of `node:net`.
      const connection = new LiveConnection(socket, stream as Socket, handshake, shared);
      connections.set(socket, connection);
      owners.set(owner, (owners.get(owner) ?? 0) + 1);
      timer ??= setInterval(tick, tickMs(limits)).unref();
      socket.on("message", onMessage);
      socket.on("ping", onPing);
      socket.on("pong", onPong);
      // What a client does wrong closes its socket, with a code that says what; `close` follows in every case.
      socket.on("error", ignore);
      socket.on("close", onClose);
    });
  }

  // One function for all sockets each, not one for each socket: most of them are idle, and there may be many.
  function onMessage(this: WebSocket, data: RawData, isBinary: boolean): void {
    connections.get(this)?.onMessage(data as Buffer, isBinary);
  }

  function onPing(this: WebSocket, data: Buffer): void {
    connections.get(this)?.onPing(data);
  }

  function onPong(this: WebSocket): void {
    connections.get(this)?.onPong();
  }

  function onClose(this: WebSocket): void {
    const connection = connections.get(this);
    if (!connection) return;
    const { owner } = connection;
    connections.delete(this);
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

  async function closeAll(): Promise<void> {
    server.off("upgrade", onUpgrade);
    taken.delete(server);
    for (const stream of arriving) stream.destroy();
    const gone = [...connections.keys()].map((socket) => new Promise((resolve) => socket.once("close", resolve)));
    for (const connection of connections.values()) connection.close(1001, "The server is stopping.");
    await Promise.all(gone);
  }
}

function full(): BridgeError {
  return new BridgeError("unavailable", "This server has as many sockets as it takes. Try again in a moment.");
}

function ignore(): void {}

/** From the handshake on, nobody else listens for what goes wrong with a connection. */
function destroy(this: Duplex): void {
  this.destroy();
}

/** Often enough that nobody waits half as long again as a limit says. */
function tickMs({ stallMs, heartbeatMs, silenceMs }: ConnectionLimits): number {
  return Math.max(5, Math.min(stallMs, heartbeatMs, silenceMs) / 2);
}
