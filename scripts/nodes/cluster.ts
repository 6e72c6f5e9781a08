/** A PostgreSQL, some nodes of the demo on it, and a balancer in front of them. */
import { createServer, type Server } from "node:net";
import process from "node:process";
import pg from "pg";
import { type PostgresServer, startPostgres } from "../start-postgres.ts";
import { type Balancer, startBalancer } from "./balancer.ts";
import { createDemoNode, type DemoNode } from "./demo-node.ts";

export interface Cluster {
  url: string;
  databaseUrl: string;
  nodes: readonly DemoNode[];
  balancer: Balancer;
  /** Undefined if the database is one that was there before. */
  postgres: PostgresServer | undefined;
  /** The number of chats that each node has now, by its port. Empty while the database is away. */
  chatsHeld(): Promise<ReadonlyMap<number, number>>;
  close(): Promise<void>;
}

export interface ClusterOptions {
  /** How many nodes. */
  count: number;
  /** The port of the balancer; the nodes have the next ones. 0: any. */
  port: number;
  /** A database that is there already. Default: a private PostgreSQL, which is removed in the end. */
  databaseUrl?: string | undefined;
  /** False does not wait for the disk. */
  durable?: boolean;
  /** More settings of the nodes. */
  env?: Record<string, string | undefined>;
  print?: (node: number, line: string) => void;
  onChange?: () => void;
}

export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { count, port, durable = true, env = {}, print, onChange } = options;
  const ports = port === 0 ? await freePorts(count) : Array.from({ length: count }, (_, index) => port + 1 + index);
  if (port !== 0) await requireFree([port, ...ports]);
  const postgres = options.databaseUrl === undefined ? await startPostgres({ durable }) : undefined;
  const databaseUrl = options.databaseUrl ?? postgres?.url ?? "";
  const nodes = ports.map((nodePort, index) =>
    createDemoNode({
      port: nodePort,
      env: { ...process.env, ...env, DATABASE_URL: databaseUrl },
      ...(print && { print: (line: string) => print(index + 1, line) }),
      ...(onChange && { onChange }),
    }),
  );
  let balancer: Balancer | undefined;
  const close = async () => {
    await balancer?.close();
    await Promise.all(nodes.map((node) => node.kill()));
    await postgres?.stop();
  };
  try {
    // All at the same moment, on an empty database.
    await Promise.all(nodes.map((node) => node.start()));
    balancer = await startBalancer({ ports, port, ...(onChange && { onChange }) });
  } catch (error) {
    await close();
    throw error;
  }
  return {
    url: balancer.url,
    ...{ databaseUrl, nodes, balancer, postgres, close },
    chatsHeld: () => chatsHeld(databaseUrl, nodes).catch(() => new Map()),
  };
}

async function chatsHeld(databaseUrl: string, nodes: readonly DemoNode[]): Promise<Map<number, number>> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 1000, query_timeout: 1000 });
  client.on("error", () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<{ node: string; count: number }>(
      `SELECT lease_node AS node, count(*)::integer AS count FROM adk_stream_protocol.session
       WHERE lease_until > extract(epoch FROM clock_timestamp()) * 1000 GROUP BY lease_node`,
    );
    const counts = new Map(rows.map(({ node, count }) => [node, count]));
    const names = await Promise.all(nodes.map(nameOf));
    return new Map(nodes.map(({ port }, index) => [port, counts.get(names[index] ?? "") ?? 0]));
  } finally {
    await client.end();
  }
}

/** The name of a node in the leases of chats. */
export async function nameOf({ url }: Pick<DemoNode, "url">): Promise<string | undefined> {
  const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(1000) }).catch(() => undefined);
  return ((await response?.json()) as { node?: string } | undefined)?.node;
}

/** Before anything starts: otherwise the nodes that find their ports would get requests of another cluster. */
async function requireFree(ports: readonly number[]): Promise<void> {
  for (const port of ports)
    await probePort(port).then(portOf, (error: NodeJS.ErrnoException) => {
      if (error.code !== "EADDRINUSE") throw error;
      throw new Error(
        `Port ${port} is taken, perhaps by another npm run nodes. Choose another one for the balancer with PORT; ` +
          `the nodes have the next ${ports.length - 1}.`,
      );
    });
}

async function freePorts(count: number): Promise<number[]> {
  const probes = await Promise.all(Array.from({ length: count }, () => probePort(0)));
  return Promise.all(probes.map(portOf));
}

/** Listens at a port for a moment. */
function probePort(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject);
    probe.listen(port, "127.0.0.1", () => resolve(probe));
  });
}

/** The port of a probe, which is free again. */
function portOf(probe: Server): Promise<number> {
  const address = probe.address();
  const found = typeof address === "object" && address ? address.port : 0;
  return new Promise((resolve) => probe.close(() => resolve(found)));
}
