/** The parts of `npm run nodes` and of `npm start` that need no nodes. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { type Balancer, startBalancer } from "../../scripts/nodes/balancer.ts";
import { createScreen } from "../../scripts/nodes/screen.ts";
import { table } from "../../scripts/nodes/table.ts";
import { withLock } from "../../scripts/with-lock.mjs";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

interface TestNode {
  server: Server;
  port: number;
  /** What `/ready` says. */
  status: number;
  requests: string[];
  /** Ends as a crash does. */
  kill(): void;
}

async function openNode(name: string, handle?: RequestListener): Promise<TestNode> {
  const requests: string[] = [];
  const node = { status: 200, requests } as TestNode;
  const server = createServer((request, response) => {
    if (request.url === "/ready") {
      response.writeHead(node.status).end();
      return;
    }
    requests.push(`${request.method} ${request.url}`);
    if (handle) handle(request, response);
    else request.pipe(response.writeHead(200, { "x-node": name, "x-host": request.headers.host ?? "" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const kill = () => {
    server.close();
    server.closeAllConnections();
  };
  closing.push(kill);
  return Object.assign(node, { server, port: (server.address() as AddressInfo).port, kill });
}

async function balance(...nodes: TestNode[]): Promise<Balancer> {
  // The tests ask for checks themselves.
  const balancer = await startBalancer({ ports: nodes.map(({ port }) => port), checkMs: 60_000 });
  closing.push(() => balancer.close());
  return balancer;
}

describe("the balancer", () => {
  it("takes the ready nodes in turn, and passes bodies and the host on", async () => {
    const [one, two, three] = [await openNode("1"), await openNode("2"), await openNode("3")];
    two.status = 503;
    const { url, targets } = await balance(one, two, three);
    expect(targets.map(({ state }) => state)).toEqual(["ready", "busy", "ready"]);
    const replies = await Promise.all(
      [1, 2, 3, 4].map((n) => fetch(`${url}/a`, { method: "POST", body: `body ${n}` })),
    );
    expect(await Promise.all(replies.map((reply) => reply.text()))).toEqual(["body 1", "body 2", "body 3", "body 4"]);
    expect(replies[0]?.headers.get("x-host")).toBe(new URL(url).host);
    expect([one, two, three].map(({ requests }) => requests.length)).toEqual([2, 0, 2]);
  });

  it("sends a request to another node if nothing of it was sent, and not if it was", async () => {
    const gone = await openNode("1");
    const other = await openNode("2");
    const { url, targets } = await balance(gone, other);
    gone.kill();
    for (const path of ["/a", "/b"]) expect((await fetch(url + path)).headers.get("x-node")).toBe("2");
    expect(targets.map(({ state }) => state)).toEqual(["silent", "ready"]);

    const dying = await openNode("3", (request) => void request.socket.destroy());
    const lone = await balance(dying);
    expect((await fetch(`${lone.url}/pay`, { method: "POST", body: "1" })).status).toBe(502);
    expect(dying.requests).toEqual(["POST /pay"]);
  });

  it("says 503 without a ready node, and cuts a response whose node dies", async () => {
    const node: TestNode = await openNode("1", (_, response) => {
      response.writeHead(200).write("data: 1\n\n");
    });
    const { url, check } = await balance(node);
    const reader = (await fetch(url)).body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("data: 1\n\n");
    node.kill();
    await expect(reader?.read()).rejects.toThrow("terminated");
    await check();
    const refused = await fetch(url);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
  });

  it("passes WebSockets on, and counts them", async () => {
    const node = await openNode("1");
    const sockets = new WebSocketServer({ server: node.server });
    sockets.on("connection", (socket) =>
      socket.on("message", (data) => socket.send(`echo ${(data as Buffer).toString()}`)),
    );
    const { url, targets } = await balance(node);
    const client = new WebSocket(url.replace("http", "ws"));
    const said = await new Promise((resolve) => {
      client.once("open", () => client.send("hi"));
      client.once("message", (data) => resolve((data as Buffer).toString()));
    });
    expect([said, targets[0]?.sockets]).toEqual(["echo hi", 1]);
    client.close();
    await expect.poll(() => targets[0]?.sockets).toBe(0);
  });
});

describe("the screen", () => {
  it("shows what is where, and which node was chosen", () => {
    const usual = { process: "running", balancer: "ready", chats: 2, sockets: 1, requests: 0 } as const;
    const rows = [
      { ...usual, port: 3001 },
      { ...usual, port: 3002, balancer: "busy", chats: undefined },
      { ...usual, port: 3003, process: "ended", sockets: 0 },
    ] as const;
    expect(table(rows, { chosen: 1 })).toEqual([
      "   node  port  state      chats held  sockets  requests",
      "   1     3001  ready      2           1        0",
      ">  2     3002  not ready  ?           1        0",
      "   3     3003  ended      -           0        0",
    ]);
    expect(table([rows[0]], { counts: false }).at(-1)).toBe("  1     3001  ready");
  });

  it("keeps its lines at the end of a terminal, and prints them again elsewhere only when they change", () => {
    const written: string[] = [];
    const output = { write: (text: string) => written.push(text) > 0 };
    const terminal = createScreen(output, true);
    terminal.show(["a", "b"]);
    terminal.print("news");
    expect(written.splice(0)).toEqual(["a\nb\n", "\x1b[2A\x1b[J", "news\n", "a\nb\n"]);
    const file = createScreen(output, false);
    for (const line of ["a", "a", "b"]) file.show([line]);
    file.print("news");
    expect(written).toEqual(["a\n", "b\n", "news\n"]);
  });
});

describe("a lock", () => {
  it("is held by one at a time, and taken over from a process that died", async () => {
    const folder = mkdtempSync(join(tmpdir(), "lock-"));
    closing.push(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "lock");
    // No process has this id.
    writeFileSync(file, "4194305");
    let inside = 0;
    const most: number[] = [];
    const work = async () => {
      inside += 1;
      most.push(inside);
      await new Promise((resolve) => setImmediate(resolve));
      inside -= 1;
    };
    await Promise.all([withLock(file, work), withLock(file, work)]);
    expect(most).toEqual([1, 1]);
    await expect(withLock(file, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    await withLock(file, work);
  });
});
