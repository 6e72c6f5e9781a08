/**
 * The memory of an idle connection: how much a server grows, after garbage collection, by clients that each sent one
 * frame. Clients of our server each follow a chat with one reply in it; clients of bare `ws` got their frame back.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteStore } from "adk-stream-protocol/stores/sqlite";
import type { UIMessageChunk } from "ai";
import { alternate, goal, median, ratio } from "./figures.ts";
import { type ServerProcess, startServer } from "./server-process.ts";
import { SocketClient } from "./socket-client.ts";

const rounds = 5;
const connections = 2000;
/** Connections opened before the first measurement, which therefore includes what a server loads for its first client. */
const before = 100;
/** How many connections are opened at the same time. */
const together = 50;

type Growth = "rss" | "heap";

/** Measures and prints. */
export async function wsMemory(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "adk-stream-bench-"));
  const database = join(directory, "a.db");
  await writeChats(database);

  const growth = { "/live": [] as Record<Growth, number>[], "bare ws": [] as Record<Growth, number>[] };
  const measure = async (name: keyof typeof growth, server: ServerProcess): Promise<number> => {
    const perConnection = await growthOf(server);
    await server.stop();
    growth[name].push(perConnection);
    return perConnection.rss;
  };
  await alternate(rounds, {
    "/live": async () => measure("/live", await startServer("bridge", { database })),
    "bare ws": async () => measure("bare ws", await startServer("bare-socket")),
  });
  await rm(directory, { recursive: true });

  const values = (name: keyof typeof growth, kind: Growth) => growth[name].map((each) => each[kind]);
  console.log(`\nMemory per idle connection at ${connections}, KiB (median of ${rounds}, lowest–highest)`);
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
  console.log(
    goal("idle /live socket ÷ bare ws", median(values("/live", "rss")) / median(values("bare ws", "rss")), { most: 2 }),
  );
}

/** Writes a chat with a short reply for each connection. */
async function writeChats(database: string): Promise<void> {
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

async function growthOf(server: ServerProcess): Promise<Record<Growth, number>> {
  const clients: SocketClient[] = [];
  const attach = async (index: number) => {
    const client = await SocketClient.open(server.url);
    clients.push(client);
    const attached = client.until((frame) => frame.includes("attach"));
    client.send({ type: "attach", id: `c-${index}` });
    await attached;
  };
  await inGroups(before, attach);
  const empty = await server.memory();
  await inGroups(connections - before, (index) => attach(before + index));
  const full = await server.memory();
  await Promise.all(clients.map((client) => client.close()));
  const added = connections - before;
  return { rss: (full.rss - empty.rss) / added, heap: (full.heap - empty.heap) / added };
}

async function inGroups(count: number, work: (index: number) => Promise<void>): Promise<void> {
  for (let start = 0; start < count; start += together)
    await Promise.all(Array.from({ length: Math.min(together, count - start) }, (_, index) => work(start + index)));
}
