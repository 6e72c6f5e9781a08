// Runs all checks and tests, and prints each with its duration. All steps run, also after one has
// failed. At the end there is a line for each failure, and one with the numbers.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const env = { ...process.env, PATH: [join(root, "node_modules", ".bin"), process.env.PATH].join(delimiter) };

/** Scripts of package.json, which can also be run alone. publint and attw check the output of the build. */
const steps = ["build", "typecheck", "lint", "format:check", "unused", "publint", "attw"];

const total = { passed: 0, failed: 0 };
/** @type {string[]} */
const failures = [];

for (const name of steps) {
  const { ok, output, seconds } = run(`npm run -s ${name}`);
  console.log(`${ok ? "ok  " : "FAIL"} ${name} (${seconds} s)`);
  if (!ok) {
    console.log(output);
    failures.push(name);
  }
  total[ok ? "passed" : "failed"] += 1;
}

const tests = runTests();
total.passed += tests.passed;
total.failed += tests.failed;
failures.push(...tests.failures);

for (const failure of failures) console.log(`FAIL ${failure}`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 ? 0 : 1;

/** @param {string} command */
function run(command) {
  const start = performance.now();
  const step = spawnSync(command, { cwd: root, env, shell: true, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  return { ok: step.status === 0, output: `${step.stdout}${step.stderr}`, seconds: secondsSince(start) };
}

/** Runs the tests, which print their own progress. It is a failure too if no test ran or if the runner failed. */
function runTests() {
  const directory = mkdtempSync(join(tmpdir(), "vitest-counts-"));
  const file = join(directory, "counts.json");
  const start = performance.now();
  try {
    const reporters = "--reporter=default --reporter=./scripts/vitest-counts.ts";
    const runner = spawnSync(`vitest run --allowOnly=false ${reporters}`, {
      cwd: root,
      env: { ...env, VITEST_COUNTS: file },
      shell: true,
      stdio: ["ignore", "inherit", "inherit"],
    });
    const counts = readCounts(file);
    const ok = runner.status === 0 && counts.failed === 0 && counts.passed > 0;
    if (!ok && counts.failed === 0) {
      counts.failed = 1;
      counts.failures.push("the test runner");
    }
    console.log(`${ok ? "ok  " : "FAIL"} tests (${secondsSince(start)} s, ${counts.skipped} skipped)`);
    return counts;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/**
 * @param {string} file
 * @returns {{ passed: number, failed: number, skipped: number, failures: string[] }}
 */
function readCounts(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return { passed: 0, failed: 0, skipped: 0, failures: [] };
  }
}

/** @param {number} start */
function secondsSince(start) {
  return ((performance.now() - start) / 1000).toFixed(1);
}
