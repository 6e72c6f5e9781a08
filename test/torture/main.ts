/**
 * `npm run torture -- --minutes 10 --seed 7 --chats 300 --nodes 3 --lease 2000`
 *
 * `--beside ../earlier` lets the last node run the release in that folder, as during a deploy. `--busy 10` says how many
 * people are busy at the same time.
 *
 * Prints what happened, what it proves, and every violation. It uses its own processes on this machine only.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { runTorture } from "./run-torture.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "5" },
    seed: { type: "string", default: String(Date.now() % 1e9) },
    chats: { type: "string", default: "300" },
    nodes: { type: "string", default: "3" },
    lease: { type: "string", default: "2000" },
    busy: { type: "string", default: "24" },
    beside: { type: "string" },
  },
});

function read(name: Exclude<keyof typeof values, "beside">, from: number, to: number): number {
  const value = Number(values[name]);
  if (Number.isFinite(value) && value >= from && value <= to) return value;
  console.error(`--${name} must be a number from ${from} to ${to}; got ${values[name]}.`);
  process.exit(2);
}

const [minutes, seed, chats] = [read("minutes", 0.1, 1440), read("seed", 0, 1e9), read("chats", 1, 5000)];
const [nodes, leaseMs, busy] = [read("nodes", 1, 8), read("lease", 300, 60_000), read("busy", 1, 1000)];
console.log(`${chats} chats on ${nodes} nodes for ${minutes} minutes, leases of ${leaseMs} ms, seed ${seed}`);
const { violations, counts, handovers } = await runTorture({
  ...{ seed, nodes, chats, leaseMs, ms: minutes * 60_000, atOnce: Math.min(chats, busy), restMs: leaseMs },
  beside: values.beside,
  print: (line) => console.log(line),
});
console.log();
for (const [name, count] of Object.entries(counts)) console.log(`${String(count).padStart(9)}  ${name}`);
console.log();
const inLeases = (value = 0) => `${value.toFixed(2)} lease times`;
if (handovers.length > 0)
  console.log(
    `${handovers.length} turns stood still because their node was killed or paused: half of them at most ${inLeases(handovers[Math.floor((handovers.length - 1) / 2)])}, the longest ${inLeases(handovers.at(-1))}.`,
  );
for (const violation of violations.slice(0, 50)) console.log(`VIOLATION ${violation}`);
const approvals = counts["approvals"] ?? 0;
if (violations.length > 0) console.log(`${violations.length} violations, seed ${seed}`);
else
  console.log(
    `0 violations in ${approvals} approvals: with 95 % confidence fewer than ${((3 / approvals) * 100).toFixed(2)} % of approvals are affected under such faults.`,
  );
process.exitCode = violations.length === 0 ? 0 : 1;
