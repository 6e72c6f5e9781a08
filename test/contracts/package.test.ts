/** What the built package needs to be installed beside it, and what it is without the rest of this project. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../scripts/strangers/project.ts";
import { addressOf, chatWith, runCli } from "../fixtures/cli-process.ts";

const root = join(import.meta.dirname, "../..");
const { exports, scripts, dependencies, peerDependencies } = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
) as {
  exports: Record<string, string | { types: string }>;
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
};

/** An agent file and nothing else. */
const agentFile = `
import { FunctionTool, LlmAgent } from "@google/adk";
import { z } from "zod";
const parameters = z.object({ amount: z.number() });
const execute = ({ amount }: z.infer<typeof parameters>) => ({ paid: amount });
const pay = new FunctionTool({ name: "pay", description: "Pays.", parameters, requireConfirmation: true, execute });
export const rootAgent = new LlmAgent({ name: "cashier", model: "gemini-2.5-flash", tools: [pay] });
`;

/** The packages that the declarations of an entry point import, directly or through other declarations. */
function packagesNamedBy(entry: string): Set<string> {
  const seen = new Set<string>();
  const named = new Set<string>();
  const visit = (file: string) => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const [, from = ""] of readFileSync(file, "utf8").matchAll(/(?:from|import\() ?"([^"]+)"/g)) {
      if (from.startsWith(".")) visit(join(dirname(file), from.replace(/\.(?:js|tsx?)$/, ".d.ts")));
      else if (!from.startsWith("node:")) named.add(from);
    }
  };
  visit(entry);
  return named;
}

describe.each(Object.entries(exports).filter(([, target]) => typeof target === "object"))(
  "the types of %s",
  (_, target) => {
    it("import only packages that have types and are installed with this one", () => {
      const { types } = target as { types: string };
      const file = join(root, types);
      expect(existsSync(file), "npm run build:package makes it").toBe(true);
      const offered = new Set(Object.keys({ ...dependencies, ...peerDependencies }));
      // The types of `ws` are in another package, which is needed to build this one and not to use it.
      offered.delete("ws");
      expect([...packagesNamedBy(file)].filter((name) => !offered.has(name))).toEqual([]);
    });
  },
);

/**
 * The packed package in a folder of its own, without a registry: the packages beside it are links to those of this
 * project. `npm run strangers` does the same with an npm install, for every version that is supported.
 */
describe("the packed package", { timeout: 150_000 }, () => {
  /** Each test starts processes, which load all of ADK. On a busy machine that takes long. */
  const patienceMs = 120_000;
  const folder = mkdtempSync(join(tmpdir(), "package-"));
  let files: string[] = [];

  const run = (args: readonly string[], command = process.execPath) =>
    spawnSync(command, args, { cwd: folder, encoding: "utf8", timeout: patienceMs });
  const install = (...names: readonly string[]) => {
    for (const name of names) {
      mkdirSync(dirname(join(folder, "node_modules", name)), { recursive: true });
      symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name));
    }
  };

  beforeAll(() => {
    const { stdout } = spawnSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], {
      cwd: root,
      encoding: "utf8",
    });
    const [packed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[];
    if (!packed) throw new Error("npm pack has packed nothing.");
    files = packed.files.map(({ path }) => path);
    run(["-xzf", packed.filename], "tar");
    mkdirSync(join(folder, "node_modules"));
    cpSync(join(folder, "package"), join(folder, "node_modules/adk-stream-protocol"), { recursive: true });
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    install(...Object.keys(dependencies), "ai");
  }, patienceMs);

  afterAll(() => rmSync(folder, { recursive: true }));

  it("has every file that the README links to, and no tests", () => {
    const links = [...readFileSync(join(root, "README.md"), "utf8").matchAll(/\]\((?!https?:)([^)#]+)\)/g)];
    const missing = links
      .map(([, link = ""]) => link)
      .filter((link) => !files.some((file) => file === link || (link.endsWith("/") && file.startsWith(link))));
    expect(missing).toEqual([]);
    const own = files.filter((file) => !file.startsWith("template/"));
    expect(own.filter((file) => /\.test\.|node_modules|\.stamp/.test(file))).toEqual([]);
  });

  it("has the page that the command serves, also if it was packed without a build before", () => {
    expect(files).toContain("dist/page/index.html");
    // `build:package` leaves the page out.
    expect(scripts["prepack"]).toBe("npm run -s build");
  });

  it("works without ADK in a page, and names it where it is needed", () => {
    const loads = ["protocol", "client", "stores/memory", "stores/sqlite"].map(
      (part) => `await import("adk-stream-protocol/${part}");`,
    );
    expect(run(["-e", loads.join("\n")]).stderr).toBe("");
    for (const part of ["adk-stream-protocol", "adk-stream-protocol/node"])
      expect(run(["-e", `await import("${part}")`]).stderr, part).toContain("Cannot find package '@google/adk'");
  });

  it("serves an agent file beside which nothing is installed, with the ADK that was installed for one before", async () => {
    const cache = mkdtempSync(join(tmpdir(), "cache-"));
    const alone = mkdtempSync(join(tmpdir(), "alone-"));
    try {
      const installed = join(cache, "adk-stream-protocol/adk-2.0.0-2.32.0");
      mkdirSync(join(installed, "node_modules"), { recursive: true });
      writeFileSync(join(installed, "package.json"), "{}");
      symlinkSync(join(root, "node_modules/@google"), join(installed, "node_modules/@google"));
      writeFileSync(join(alone, "agent.ts"), agentFile);
      const main = join(folder, "node_modules/adk-stream-protocol/dist/cli/main.js");
      const options = { cwd: alone, env: { XDG_CACHE_HOME: cache }, main };
      const chat = chatWith(await addressOf(runCli(["dev", "agent.ts", "--port", "0"], options)), "chat-1");
      await chat.say("call pay");
      expect(await chat.approvals()).toMatchObject([{ toolName: "pay", state: "pending" }]);

      const refused = runCli(["serve", "agent.ts", "--port", "0"], options);
      expect(await refused.ended).toBe(1);
      expect(refused.output()).toMatch(/^@google\/adk is not installed\. Run npm install .*\n$/);
    } finally {
      for (const made of [cache, alone]) rmSync(made, { recursive: true });
    }
  });

  it("can be required by CommonJS", () => {
    install("@google/adk", "@google/genai");
    const loads = ["adk-stream-protocol", "adk-stream-protocol/node"].map((name) => `require("${name}");`);
    expect(run(["--input-type=commonjs", "-e", loads.join("\n")]).stderr).toBe("");
  });

  it("runs the README's example, which asks and pays over both wires", async () => {
    const port = await freePort();
    const example = readFileSync(join(root, "test/fixtures/readme-example.ts"), "utf8");
    writeFileSync(join(folder, "server.ts"), example.replace("3001", String(port)));
    cpSync(join(root, "scripts/strangers/drive.ts"), join(folder, "drive.ts"));
    const urls = [`http://127.0.0.1:${port}`, `ws://127.0.0.1:${port}/live`];
    const { stdout, stderr, status } = run(["drive.ts", ...urls, process.execPath, "server.ts"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/SSE: asked, approved and paid.*WebSocket: asked, approved and paid/s);
  });
});
