import { writeFileSync } from "node:fs";
import type { Reporter, SerializedError, TestModule } from "vitest/node";

/**
 * A vitest reporter that writes `{passed, failed, skipped}` to the file in `VITEST_COUNTS`, because vitest's own
 * summary is for people, not for programs. A failure outside a test (a file that cannot be loaded, a hook, an
 * unhandled rejection) counts as one failure.
 */
export default class VitestCounts implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) {
      counts.failed += module.errors().length;
      for (const suite of module.children.allSuites()) counts.failed += suite.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        counts[state === "pending" ? "skipped" : state] += 1;
      }
    }
    if (process.env.VITEST_COUNTS) writeFileSync(process.env.VITEST_COUNTS, JSON.stringify(counts));
  }
}
