/**
 * `npm run nodes`: a private PostgreSQL, three nodes of the demo and a balancer in front of them, to break by hand while you
 * chat. Without a terminal it prints what happens and runs until SIGTERM.
 *
 *     PORT          the balancer (default 3000); the nodes have the next ports
 *     NODES         how many nodes (default 3)
 *     LEASE_MS      how long until other nodes take over the chats of a dead one (default 3000)
 *     WORD_MS       how long the scripted Gemini takes for a word (default 150)
 *     DATABASE_URL  a database of your own instead of the private one
 *
 * Everything else is a setting of the demo.
 */
import process from "node:process";
import { type Cluster, startCluster } from "./cluster.ts";
import { createScreen } from "./screen.ts";
import { table } from "./table.ts";

const isTerminal = process.stdin.isTTY && process.stdout.isTTY;
const screen = createScreen(process.stdout, isTerminal);
const refreshMs = 500;

let cluster: Cluster | undefined;
let chosen = 0;
let database: "running" | "restarting" | "stopped" = "running";
let chats: ReadonlyMap<number, number> = new Map();
let closing: Promise<void> | undefined;

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => void close(0));
await start();

async function start(): Promise<void> {
  try {
    const port = wholeNumber("PORT", 3000, 65_000);
    const count = wholeNumber("NODES", 3, 9);
    screen.print(`Starting ${process.env["DATABASE_URL"] ? "" : "PostgreSQL, "}${count} nodes and a balancer.`);
    cluster = await startCluster({
      ...{ port, count },
      databaseUrl: process.env["DATABASE_URL"] || undefined,
      env: { LEASE_MS: process.env["LEASE_MS"] || "3000", WORD_MS: process.env["WORD_MS"] || "150" },
      print: (node, line) => screen.print(`node ${node}: ${line}`),
      onChange: draw,
    });
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    await close(1);
    return;
  }
  screen.print(`Chat at ${cluster.url} (the balancer)`);
  screen.print(`Database: ${cluster.postgres ? `${cluster.databaseUrl} (private, removed in the end)` : "yours"}`);
  if (isTerminal) listenToKeys();
  setInterval(() => void refresh(), refreshMs);
  await refresh();
}

async function refresh(): Promise<void> {
  if (cluster) chats = await cluster.chatsHeld();
  draw();
}

function draw(): void {
  if (!cluster || closing) return;
  const { nodes, balancer, postgres } = cluster;
  const rows = nodes.map((node, index) => {
    const { state = "silent", sockets = 0, requests = 0 } = balancer.targets[index] ?? {};
    return { port: node.port, process: node.state, balancer: state, chats: chats.get(node.port), sockets, requests };
  });
  screen.show([
    "",
    // Without a terminal the table is printed again with every change, and the counts change all the time.
    ...table(rows, isTerminal ? { chosen } : { counts: false }),
    `PostgreSQL: ${database}`,
    ...(isTerminal
      ? [
          "",
          `1-${nodes.length} choose a node   k kill -9   p pause/continue   d drain (SIGTERM)   s start again`,
          postgres ? "R restart PostgreSQL   K stop/start PostgreSQL   q end everything" : "q end everything",
        ]
      : []),
  ]);
}

function listenToKeys(): void {
  process.stdin.setRawMode(true);
  process.stdin.setEncoding("utf8");
  process.stdin.on("data", (keys) => {
    for (const key of String(keys)) void press(key).catch((error: unknown) => screen.print(String(error)));
  });
}

async function press(key: string): Promise<void> {
  if (key === "q" || key === "\u0003" || key === "\u0004") return close(0);
  if (!cluster) return;
  const node = cluster.nodes[chosen];
  const number = Number(key);
  if (number >= 1 && number <= cluster.nodes.length) chosen = number - 1;
  else if (key === "k") await node?.kill();
  else if (key === "p") (node?.state === "paused" ? node.resume : node?.pause)?.();
  else if (key === "d") await node?.drain();
  else if (key === "s") await node?.start();
  else if (key === "R") await restartDatabase(cluster);
  else if (key === "K") await stopOrStartDatabase(cluster);
  draw();
}

async function restartDatabase({ postgres }: Cluster): Promise<void> {
  if (!postgres || database !== "running") return;
  database = "restarting";
  draw();
  await postgres.restart();
  database = "running";
}

async function stopOrStartDatabase({ postgres }: Cluster): Promise<void> {
  if (!postgres || database === "restarting") return;
  if (database === "running") {
    database = "stopped";
    await postgres.kill();
  } else {
    database = "restarting";
    await postgres.start();
    database = "running";
  }
}

function close(code: number): Promise<void> {
  closing ??= (async () => {
    if (isTerminal && process.stdin.isRaw) process.stdin.setRawMode(false);
    screen.print("Ending everything.");
    await cluster?.close();
    process.exit(code);
  })();
  return closing;
}

function wholeNumber(name: string, otherwise: number, max: number): number {
  const text = process.env[name];
  const value = text ? Number(text) : otherwise;
  if (Number.isInteger(value) && value >= 0 && value <= max) return value;
  throw new Error(`${name} must be a whole number from 0 to ${max}; it is "${text}".`);
}
