/**
 * A small load balancer for HTTP and WebSockets. It asks every node for `/ready` and sends requests to those that are. A
 * request goes to another node only if nothing of it was sent to the first one, so none is carried out twice.
 */
import {
  type ClientRequest,
  createServer,
  get,
  type IncomingMessage,
  request as sendRequest,
  type ServerResponse,
} from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";

export interface Balancer {
  url: string;
  /** What the balancer knows of each node, in the order in which they were given. */
  readonly targets: readonly Target[];
  /** Asks all nodes now whether they are ready. */
  check(): Promise<void>;
  close(): Promise<void>;
}

export interface Target {
  readonly port: number;
  /** `ready` gets requests. `busy` replies, but not with 200: it drains, or has no database. `silent` does not reply. */
  state: "ready" | "busy" | "silent";
  /** Open WebSockets. */
  sockets: number;
  /** Requests whose response is not complete, event streams among them. */
  requests: number;
}

export interface BalancerOptions {
  /** The ports of the nodes on this machine. */
  ports: readonly number[];
  /** The balancer's own port. Default: any. */
  port?: number;
  /** How often each node is asked whether it is ready. */
  checkMs?: number;
  /** Called when a node's state has changed. */
  onChange?: () => void;
}

interface Node extends Target {
  open: Set<Socket>;
  /** How many times in a row it has not replied. */
  missed: number;
}

const host = "127.0.0.1";
/** A node that is only slow must not lose its connections, so it may be late once. */
const longestReplyMs = 2000;
const missedUntilSilent = 2;

export async function startBalancer(options: BalancerOptions): Promise<Balancer> {
  const { ports, port = 0, checkMs = 250, onChange } = options;
  const nodes = ports.map((nodePort): Node => ({
    port: nodePort,
    state: "silent",
    sockets: 0,
    requests: 0,
    open: new Set(),
    missed: 0,
  }));
  let turn = 0;

  /** The next node that is ready, in turn, without those that were tried. */
  const choose = (tried: readonly Node[]): Node | undefined => {
    const ready = nodes.filter((node) => node.state === "ready" && !tried.includes(node));
    turn += 1;
    return ready[turn % ready.length];
  };
  const change = (node: Node, state: Node["state"]) => {
    if (node.state === state) return;
    node.state = state;
    // A paused process keeps its connections open and says nothing. Its clients have to come back to another node.
    if (state === "silent") for (const socket of node.open) socket.destroy();
    onChange?.();
  };
  const checkNode = async (node: Node) => {
    const status = await readiness(node.port);
    node.missed = typeof status === "number" ? 0 : node.missed + 1;
    if (typeof status === "number") change(node, status === 200 ? "ready" : "busy");
    else if (status === "refused" || node.missed >= missedUntilSilent) change(node, "silent");
  };
  const check = async () => void (await Promise.all(nodes.map(checkNode)));

  /** Connects to a node that is ready. Undefined if there is none. */
  const reach = async (): Promise<{ node: Node; socket: Socket } | undefined> => {
    const tried: Node[] = [];
    for (let node = choose(tried); node; node = choose(tried)) {
      const socket = await open(node.port);
      if (socket) {
        const { open: sockets } = node;
        sockets.add(socket);
        socket.once("close", () => sockets.delete(socket));
        return { node, socket };
      }
      tried.push(node);
      void checkNode(node);
    }
    return undefined;
  };

  const server = createServer((incoming, outgoing) => {
    void reach().then((reached) => {
      if (!reached) return refuse(outgoing);
      const { node, socket } = reached;
      node.requests += 1;
      outgoing.once("close", () => {
        node.requests -= 1;
        socket.destroy();
      });
      const upstream = forward(incoming, outgoing, socket);
      upstream.once("response", ({ statusCode }) => statusCode === 503 && void checkNode(node));
    });
  });
  server.on("upgrade", (incoming: IncomingMessage, client: Duplex, head: Buffer) => {
    client.on("error", () => client.destroy());
    void reach().then((reached) => {
      if (!reached)
        return client.end("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\r\n");
      const { node, socket } = reached;
      node.sockets += 1;
      const end = () => {
        client.destroy();
        socket.destroy();
      };
      socket.once("close", () => {
        node.sockets -= 1;
        end();
      });
      socket.on("error", end);
      client.once("close", end);
      socket.write(headOf(incoming));
      socket.write(head);
      socket.pipe(client).pipe(socket);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const checking = setInterval(() => void check(), checkMs);
  await check();

  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    targets: nodes,
    check,
    async close() {
      clearInterval(checking);
      for (const { open: sockets } of nodes) for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function forward(incoming: IncomingMessage, outgoing: ServerResponse, socket: Socket): ClientRequest {
  const { connection: _connection, "keep-alive": _keepAlive, ...headers } = incoming.headers;
  const upstream = sendRequest({
    createConnection: () => socket,
    method: incoming.method,
    path: incoming.url,
    headers: { ...headers, connection: "close" },
    setHost: false,
  });
  upstream.once("response", (response) => {
    const { connection: _closed, "keep-alive": _kept, ...kept } = response.headers;
    outgoing.writeHead(response.statusCode ?? 502, kept);
    outgoing.flushHeaders();
    response.pipe(outgoing);
    // The node died in the middle. The client has to see that the response is not complete.
    response.once("close", () => !response.complete && outgoing.destroy());
  });
  upstream.once("error", () => {
    if (outgoing.headersSent) outgoing.destroy();
    else refuse(outgoing, 502);
  });
  incoming.pipe(upstream);
  return upstream;
}

/** Without a ready node 503. 502 if a node has died before it replied: then it is not known what it has done. */
function refuse(outgoing: ServerResponse, status = 503): void {
  const message = status === 503 ? "No node is ready." : "The node did not reply.";
  const body = JSON.stringify({ code: "unavailable", message });
  outgoing.writeHead(status, { "content-type": "application/json", "retry-after": "1", "cache-control": "no-store" });
  outgoing.end(body);
}

/** The first lines of a request, as they came. */
function headOf({ method, url, rawHeaders }: IncomingMessage): string {
  let head = `${method} ${url} HTTP/1.1\r\n`;
  for (let index = 0; index < rawHeaders.length; index += 2)
    head += `${rawHeaders[index]}: ${rawHeaders[index + 1]}\r\n`;
  return `${head}\r\n`;
}

/** A connection to a port, or undefined if there is none. */
function open(port: number): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    socket.setNoDelay(true).setTimeout(longestReplyMs, () => socket.destroy());
    socket.once("error", () => resolve(undefined));
    socket.once("close", () => resolve(undefined));
    socket.once("connect", () => {
      socket.setTimeout(0).removeAllListeners("timeout");
      resolve(socket);
    });
  });
}

/** The status of `/ready`; `refused` if no process listens, `late` if it does not reply. */
function readiness(port: number): Promise<number | "refused" | "late"> {
  return new Promise((resolve) => {
    const asked = get({ host, port, path: "/ready", agent: false, timeout: longestReplyMs }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    asked.once("timeout", () => asked.destroy());
    asked.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED" ? "refused" : "late"));
  });
}
