import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import process from "node:process";

/** An npm project in a folder of its own, outside of this one. */
export class Project {
  readonly folder = mkdtempSync(join(tmpdir(), "stranger-"));

  constructor() {
    this.write("package.json", JSON.stringify({ name: "stranger", private: true, type: "module" }));
  }

  /** Installs packages from the registry or from files. */
  install(...packages: readonly string[]): void {
    this.run("npm", "install", "--no-audit", "--no-fund", "--loglevel=error", ...packages);
  }

  write(path: string, content: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    writeFileSync(join(this.folder, path), content);
  }

  /** Throws if the file has nothing to replace. */
  edit(path: string, what: RegExp, replacement: string): void {
    const before = readFileSync(join(this.folder, path), "utf8");
    const after = before.replace(what, () => replacement);
    if (after === before) throw new Error(`${path} has no ${String(what)}:\n${before}`);
    this.write(path, after);
  }

  copy(from: string, to: string): void {
    cpSync(from, join(this.folder, to), { recursive: true });
  }

  has(path: string): boolean {
    return existsSync(join(this.folder, path));
  }

  /** Runs a program of the project or of the machine, and returns what it prints. Throws if the program fails. */
  run(program: string, ...args: readonly string[]): string {
    return this.runWith({}, program, ...args);
  }

  /** The same with environment variables. */
  runWith(env: Readonly<Record<string, string>>, program: string, ...args: readonly string[]): string {
    const { status, stdout, stderr } = this.try(program, args, env);
    if (status !== 0) throw new Error(`${program} ${args.join(" ")} failed:\n${stdout}${stderr}`);
    return stdout;
  }

  try(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    // The Node that runs this script, and no package of this project.
    const path = [join(this.folder, "node_modules/.bin"), dirname(process.execPath), process.env["PATH"]];
    return spawnSync(program, args, {
      cwd: this.folder,
      encoding: "utf8",
      maxBuffer: 64 * 1024 * 1024,
      env: { ...process.env, NEXT_TELEMETRY_DISABLED: "1", ...env, PATH: path.join(delimiter) },
    });
  }

  /** Pays over both wires with `drive.ts`. */
  drive(base: string, socketUrl: string, ...command: readonly string[]): string {
    return this.driveWith({}, base, socketUrl, ...command);
  }

  /** The same with environment variables. */
  driveWith(env: Readonly<Record<string, string>>, ...args: readonly string[]): string {
    this.copy(join(import.meta.dirname, "drive.ts"), "drive.ts");
    return this.runWith(env, "node", "drive.ts", ...args);
  }

  /** How much the installed packages take on disk, in MB. */
  installedMegabytes(): number {
    return Number(this.run("du", "-sk", "node_modules").split("\t")[0]) / 1000;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A port that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
