import { writeFileSync } from "node:fs";
import type { Reporter, SerializedError, TestModule } from "vitest/node";

/**
 * A vitest reporter that writes `{passed, failed, skipped, failures}` to the file in `VITEST_COUNTS`, because vitest's own
 * summary is for people, not for programs. `failures` has a line for each failure. A failure outside a test (a file that cannot be loaded, a hook, an
 * unhandled rejection) counts as one failure.
 */
export default class VitestCounts implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const counts = { passed: 0, skipped: 0 };
    const failures: string[] = [];
    const fail = (where: string, errors: readonly SerializedError[]) => {
      for (const { message } of errors) failures.push(lineOf(where, message));
    };
    fail("outside a test", unhandledErrors);
    for (const module of modules) {
      const file = module.relativeModuleId;
      fail(file, module.errors());
      for (const suite of module.children.allSuites()) fail(`${file} > ${suite.fullName}`, suite.errors());
      for (const test of module.children.allTests()) {
        const { state, errors } = test.result();
        if (state === "failed") failures.push(lineOf(`${file} > ${test.fullName}`, errors[0]?.message));
        else counts[state === "passed" ? "passed" : "skipped"] += 1;
      }
    }
    const result = { ...counts, failed: failures.length, failures };
    if (process.env.VITEST_COUNTS) writeFileSync(process.env.VITEST_COUNTS, JSON.stringify(result));
  }
}

function lineOf(where: string, message = ""): string {
  return `${where}: ${message.split("\n")[0]}`;
}
