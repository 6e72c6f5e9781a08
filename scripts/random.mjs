// Runs the stories of the random client: `npm run random -- --runs 2000 --seed 7`. A failure prints its shortest story.
import { spawnSync } from "node:child_process";
import process from "node:process";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: { runs: { type: "string", default: "200" }, seed: { type: "string", default: String(Date.now() % 1e9) } },
});
console.log(`${values.runs} stories for each store, seed ${values.seed}`);
const { status } = spawnSync("vitest", ["run", "test/journeys/random-client.test.ts"], {
  stdio: "inherit",
  env: { ...process.env, RANDOM_RUNS: values.runs, RANDOM_SEED: values.seed },
});
process.exitCode = status ?? 1;
