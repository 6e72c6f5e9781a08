import { readFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** Maps the package's public names to the sources, so that tests need no build. */
function publicNames() {
  const { name, exports } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8")) as {
    name: string;
    exports: Record<string, string | { default: string }>;
  };
  return Object.entries(exports).flatMap(([subpath, target]) => {
    if (typeof target === "string") return [];
    const source = target.default.replace(/^\.\/dist\/(.*)\.js$/, "./src/$1.ts");
    return [
      {
        find: new RegExp(`^${name}${subpath.slice(1)}$`),
        replacement: fileURLToPath(new URL(source, import.meta.url)),
      },
    ];
  });
}

function project(name: string, include: string[], options: object = {}) {
  return { extends: true as const, test: { name, include, ...options } };
}

/** Files share their modules: importing the same ones for every file takes longer than most tests. */
const sharing = { isolate: false, setupFiles: ["test/fixtures/cleanup-hooks.ts"] };

/** Journeys that say nothing about several nodes, see CONTRIBUTING.md. */
const oneNodeOnly = [
  // They open their own nodes, or several apps on one store.
  ...["nodes", "apps"],
  // They start and kill real processes, with SQLite or with nodes of their own.
  ...["kill", "kill-reports", "cli", "init", "npm-run-nodes", "npm-start"],
  // They replace the store, or lock its file.
  ...["recording", "store-faults", "held-while-away"],
  // They are about limits of one process, such as its turns at once.
  ...["limits", "server-limits"],
  // They use a bridge without a stage.
  ...["examples", "live-other-model", "mounts"],
].map((name) => `test/journeys/${name}.test.ts`);

/** Tests about counts of the whole process. */
const counted = ["test/journeys/metrics.test.ts"];

/** Journeys that run with two nodes in every run. `npm run nodes:journeys` runs all of them. */
const onTwoNodes = ["approve", "decided-elsewhere", "once"].map((name) => `test/journeys/${name}.test.ts`);

/** A story takes longer with a database. */
const patience = process.env["NODES"] ? 4 : 1;

// All files of a run are routed by one seed.
if (process.env["NODES"] && !process.env["NODES_SEED"]) process.env["NODES_SEED"] = String(Date.now() % 1e9);
if (process.env["NODES"]) process.stdout.write(`Routing with NODES_SEED=${process.env["NODES_SEED"]}.\n`);

export default defineConfig({
  resolve: { alias: publicNames() },
  test: {
    // The limits are high: they should end a test that hangs, not one that is slow on a busy machine.
    testTimeout: 30_000 * patience,
    hookTimeout: 30_000 * patience,
    expect: { poll: { timeout: 15_000 * patience } },
    // By default there would be one worker on two cores. Tests wait almost half of the time, so three keep two cores busy.
    // With several nodes, the database needs a core.
    maxWorkers: process.env["NODES"] ? 2 : 3,
    projects: [
      project("unit", ["src/**/*.test.{ts,tsx}", "demo/**/*.test.{ts,tsx}"], sharing),
      project("contracts", ["test/contracts/**/*.test.ts"], sharing),
      // Tests that run at the same time start processes, and the time in which they wait for each other would count.
      project("journeys", ["test/journeys/**/*.test.ts"], {
        ...sharing,
        maxConcurrency: 2,
        exclude: [...counted, ...(process.env["NODES"] ? oneNodeOnly : [])],
      }),
      // What is counted for the whole process must not include what other files have left.
      project("counted", counted, { setupFiles: sharing.setupFiles }),
      project("nodes", onTwoNodes, { ...sharing, env: { NODES: "2", NODES_SEED: "1" } }),
      project("torture", ["test/torture/**/*.test.ts"], sharing),
      // Playwright uses a real Chromium here. These files run after everything else, because a page that shares the
      // cores with other tests is slow.
      project("browser", ["test/browser/**/*.test.ts"], {
        ...sharing,
        testTimeout: 60_000,
        hookTimeout: 60_000,
        sequence: { groupOrder: 1 },
      }),
    ],
  },
});
