/**
 * The memory of an idle connection: how much a server grows, after garbage collection, by clients that each sent one
 * frame. Clients of our server each follow a chat with one reply in it; clients of bare `ws` got their frame back.
 *
 * Measured twice: as it is after `gc()`, and without the room for new objects that V8 has touched and keeps for a while,
 * whose size depends on what a server has ever done at once and not on how many connections are idle.
 *
 *   npm run bench -- "ws memory" --sockets 15000
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteStore } from "adk-stream-protocol/stores/sqlite";
import type { UIMessageChunk } from "ai";
import { alternate, goal, median, ratio } from "./figures.ts";
import { type ServerProcess, startServer } from "./server-process.ts";
import { SocketClient } from "./socket-client.ts";

const rounds = 3;
/** Connections opened before the first measurement, which therefore includes what a server loads for its first client. */
const before = 100;
/** How many connections are opened at the same time. */
const together = 50;

type Growth = "rss" | "heap";
type Measure = "memory" | "heldMemory";

/** Measures with so many connections, and prints. */
export async function wsMemory(connections: number): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "adk-stream-bench-"));
  const database = join(directory, "a.db");
  await writeChats(database, connections);
  const start = {
    "/live": () => startServer("bridge", { database }),
    "bare ws": () => startServer("bare-socket"),
  };
  for (const measure of ["memory", "heldMemory"] as const) await compare(measure, connections, start);
  await rm(directory, { recursive: true });
}

type Name = "/live" | "bare ws";

async function compare(
  measure: Measure,
  connections: number,
  start: Record<Name, () => Promise<ServerProcess>>,
): Promise<void> {
  const growth: Record<Name, Record<Growth, number>[]> = { "/live": [], "bare ws": [] };
  const grow = async (name: Name): Promise<number> => {
    const server = await start[name]();
    const perConnection = await growthOf(server, measure, connections);
    await server.stop();
    growth[name].push(perConnection);
    return perConnection.rss;
  };
  await alternate(rounds, { "/live": () => grow("/live"), "bare ws": () => grow("bare ws") });

  const values = (name: Name, kind: Growth) => growth[name].map((each) => each[kind]);
  const without = measure === "memory" ? "" : " without room for new objects";
  console.log(`\nMemory per idle connection at ${connections}${without}, KiB (median of ${rounds}, lowest–highest)`);
  for (const kind of ["rss", "heap"] as const) {
    for (const name of ["/live", "bare ws"] as const) {
      const all = values(name, kind);
      const range = `(${(Math.min(...all) / 1024).toFixed(1)}–${(Math.max(...all) / 1024).toFixed(1)})`;
      const against = ratio(median(all), median(values("bare ws", kind)));
      console.log(
        `  ${`${name}, ${kind}`.padEnd(14)} ${(median(all) / 1024).toFixed(1).padStart(6)}   ${against} × bare ws   ${range}`,
      );
    }
  }
  const most = connections > 2000 ? 2.5 : 2;
  const reached = median(values("/live", "rss")) / median(values("bare ws", "rss"));
  console.log(goal(`idle /live socket ÷ bare ws${without}`, reached, { most }));
}

/** Writes a chat with a short reply for each connection. */
async function writeChats(database: string, connections: number): Promise<void> {
  const store = sqliteStore({ path: database });
  for (let index = 0; index < connections; index++) {
    const { id } = await store.openChat({ owner: "local", name: `c-${index}`, appName: "bench" });
    const turn = `turn-${index}`;
    const reply = `message-${index}`;
    const chunks: UIMessageChunk[] = [
      { type: "start", messageId: reply },
      { type: "start-step" },
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: "Hello." },
      { type: "text-end", id: "t" },
      { type: "finish-step" },
      { type: "finish" },
    ];
    await store.append(id, [
      { kind: "begin", turn, reply },
      ...chunks.map((chunk) => ({ kind: "chunk" as const, turn, chunk })),
      { kind: "end", turn },
    ]);
  }
  await store.close();
}

async function growthOf(server: ServerProcess, measure: Measure, connections: number): Promise<Record<Growth, number>> {
  const clients: SocketClient[] = [];
  const attach = async (index: number) => {
    const client = await SocketClient.open(server.url);
    clients.push(client);
    const attached = client.until((frame) => frame.includes("attach"));
    client.send({ type: "attach", id: `c-${index}` });
    await attached;
  };
  await inGroups(before, attach);
  const empty = await server[measure]();
  await inGroups(connections - before, (index) => attach(before + index));
  const full = await server[measure]();
  await Promise.all(clients.map((client) => client.close()));
  const added = connections - before;
  return { rss: (full.rss - empty.rss) / added, heap: (full.heap - empty.heap) / added };
}

async function inGroups(count: number, work: (index: number) => Promise<void>): Promise<void> {
  for (let start = 0; start < count; start += together)
    await Promise.all(Array.from({ length: Math.min(together, count - start) }, (_, index) => work(start + index)));
}
