/**
 * Turns per second of one node and of two nodes on one PostgreSQL, with a model that speaks for 20 ms. Each client has a
 * chat of its own and sends the next message when the reply is over. Nodes, database, model and clients share the cores of
 * one machine, so the CPU time of each says what limits.
 */
import { availableParallelism } from "node:os";
import { performance } from "node:perf_hooks";
import { startPostgres } from "../scripts/start-postgres.ts";
import { alternate, median, ratio, spread, thousands, verdict } from "./figures.ts";
import { say } from "./http-client.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

const rounds = 3;
const roundMs = 4000;
const clients = 64;

/** Measures and prints. */
export async function nodes(): Promise<void> {
  const postgres = await startPostgres();
  const gemini = await startServer("scripted-gemini", { short: true });
  const options = { gemini: gemini.url, database: postgres.url };
  const servers = [await startServer("postgres-node", options), await startServer("postgres-node", options)];
  const cpu: Record<string, number[]> = {};
  const measure = (used: readonly ServerProcess[]) => async (round: number) => {
    const all = { nodes: used, model: [gemini] };
    const before = await cpuOf(all);
    const client = process.cpuUsage();
    const turns = await talk(used, round);
    const after = await cpuOf(all);
    const { user, system } = process.cpuUsage(client);
    const spent = { nodes: after.nodes - before.nodes, model: after.model - before.model, clients: user + system };
    for (const [name, micros] of Object.entries(spent))
      (cpu[`${used.length} ${name}`] ??= []).push(micros / turns / 1000);
    return turns / (roundMs / 1000);
  };
  try {
    const speed = await alternate(rounds, { one: measure(servers.slice(0, 1)), two: measure(servers) }, { warmUp: 1 });
    const [one, two] = [speed["one"] ?? [], speed["two"] ?? []];
    console.log(
      `\nNodes on one PostgreSQL, turns per second of ${clients} clients (median of ${rounds}, lowest–highest)`,
    );
    console.log(`  one node   ${thousands(median(one))}   ${spread(one)}`);
    console.log(
      `  two nodes  ${thousands(median(two))}   ${spread(two)}   ${ratio(median(two), median(one))} × one node`,
    );
    const per = (name: string) => median(cpu[name] ?? []).toFixed(1);
    for (const count of [1, 2])
      console.log(
        `  CPU ms per turn, ${count} node${count > 1 ? "s" : " "}: nodes ${per(`${count} nodes`)}, model ${per(`${count} model`)}, clients ${per(`${count} clients`)}; the rest is the database's`,
      );
    console.log(`  ${availableParallelism()} cores for all of them: a second node needs a core of its own`);
    console.log(verdict("second node ≥ 1.7 × one", median(two) >= 1.7 * median(one)));
  } finally {
    for (const server of [...servers, gemini]) await server.stop();
    await postgres.stop();
  }
}

/** The number of turns that end in one round. */
async function talk(servers: readonly ServerProcess[], round: number): Promise<number> {
  const until = performance.now() + roundMs;
  let turns = 0;
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      const url = servers[client % servers.length]?.url ?? "";
      while (performance.now() < until) {
        const reply = await say(url, `${servers.length}-${round}-${client}`, "hello");
        if (!reply.includes('"finish"')) throw new Error(`The turn failed: ${reply.slice(0, 300)}`);
        if (performance.now() < until) turns += 1;
      }
    }),
  );
  return turns;
}

async function cpuOf({ nodes: used, model }: Record<"nodes" | "model", readonly ServerProcess[]>) {
  const sum = async (processes: readonly ServerProcess[]) =>
    (await Promise.all(processes.map((each) => each.cpuTime()))).reduce((total, value) => total + value, 0);
  return { nodes: await sum(used), model: await sum(model) };
}
