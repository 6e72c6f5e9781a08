import { readFileSync } from "node:fs";
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

export default defineConfig({
  resolve: { alias: publicNames() },
  test: {
    // The limits are high: they should end a test that hangs, not one that is slow on a busy machine.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // By default there would be one worker on two cores. Tests wait almost half of the time, so three keep two cores busy.
    maxWorkers: 3,
    projects: [
      project("unit", ["src/**/*.test.ts", "demo/**/*.test.{ts,tsx}"], sharing),
      project("contracts", ["test/contracts/**/*.test.ts"], sharing),
      // Tests that run at the same time start processes, and the time in which they wait for each other would count.
      project("journeys", ["test/journeys/**/*.test.ts"], { ...sharing, maxConcurrency: 2 }),
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
