import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** The package's public names lead to the sources, so that tests can use them without a build. */
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

export default defineConfig({
  resolve: { alias: publicNames() },
  test: {
    // Generous: on a busy machine a time limit should end what hangs, not judge what is slow.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // On two cores there would be one worker, which waits half of the time.
    maxWorkers: 2,
    projects: [
      project("unit", ["src/**/*.test.ts", "demo/**/*.test.{ts,tsx}"]),
      project("contracts", ["test/contracts/**/*.test.ts"]),
      project("journeys", ["test/journeys/**/*.test.ts"]),
      // Playwright drives a real Chromium here. Two files at a time, and after everything else: a page that has to share
      // the cores with the other tests is slow for reasons that are not its own.
      project("browser", ["test/browser/**/*.test.ts"], {
        testTimeout: 60_000,
        hookTimeout: 60_000,
        maxWorkers: 2,
        sequence: { groupOrder: 1 },
      }),
    ],
  },
});
