/** Every `ts` and `tsx` block of the documents compiles. Most are parts of files that are tested. */
import { execFile } from "node:child_process";
import { globSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { documents, type Example, examplesOf, readProjectFile, root } from "../fixtures/documents.ts";

/** Code that is compiled with the project, without indentation, so that an example may be a part of a function. */
const compiled = globSync(["{test,examples,demo}/**/*.{ts,tsx}"], { cwd: root, exclude: ["**/{node_modules,dist}/**"] })
  .map((file) => withoutIndentation(readProjectFile(file)))
  .join("\n");

function withoutIndentation(code: string): string {
  return code.replaceAll(/^\s+/gm, "");
}

const examples = documents()
  .flatMap(examplesOf)
  .filter(({ language }) => language === "ts" || language === "tsx");

/** Compiles examples, each as a module, in one run. Returns what the compiler says, with the places of the examples. */
async function compile(all: readonly Example[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "docs-examples-"));
  try {
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    const files = all.map(({ language, code }, index) => {
      const file = `example-${index}.${language}`;
      writeFileSync(join(folder, file), `${code}\nexport {};\n`);
      return file;
    });
    const globals = join(root, "test/fixtures/docs-globals.d.ts");
    // The declarations of the build, as users have them. To check the sources as well would take twice as long.
    const dist = join(root, "dist");
    const paths = {
      "adk-stream-protocol": [`${dist}/index.d.ts`],
      "adk-stream-protocol/*": [`${dist}/*/index.d.ts`, `${dist}/*.d.ts`],
    };
    const extended = join(root, "tsconfig.json");
    const config = { extends: extended, compilerOptions: { paths }, include: [], files: [...files, globals] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    const tsc = join(root, "node_modules/.bin/tsc");
    const run = promisify(execFile)(tsc, ["-p", folder, "--pretty", "false"], { cwd: folder });
    const output = await run.then(
      () => "",
      ({ stdout, stderr }: { stdout: string; stderr: string }) => `${stdout}${stderr}`,
    );
    return output.replaceAll(/^example-(\d+)\.tsx?/gm, (_, index) => all[Number(index)]?.place ?? "");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

it("compiles every example of the documents", { timeout: 120_000 }, async () => {
  expect(examples.length).toBeGreaterThan(30);
  const others = examples.filter(({ code }) => !compiled.includes(withoutIndentation(code)));
  // One that does not compile shows that they are compiled. The compiler runs once, because each run takes seconds.
  const broken = { place: "broken:1", language: "ts", code: "await listen({ brigde: bridge });" };
  const errors = (await compile([...others, broken])).trim().split("\n");
  expect(errors).toEqual([expect.stringMatching(/^broken:1.*'brigde' does not exist/)]);
});
