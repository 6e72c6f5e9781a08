import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import process from "node:process";
import { choosePackage } from "./choose-package.ts";
import { ownFolder, ownVersion } from "./own-package.ts";

/** Writes a small application into a new or empty folder: an agent, a server, a page and a test. */
export async function init(given: string, print: (line: string) => void): Promise<void> {
  const folder = resolve(given);
  if (existsSync(folder) && !statSync(folder).isDirectory()) throw new Error(`${given} is a file, not a folder.`);
  // A new repository is still empty.
  if (existsSync(folder) && readdirSync(folder).some((name) => name !== ".git"))
    throw new Error(`The folder ${given} is not empty, and init overwrites nothing.`);
  const name = packageName(folder);
  mkdirSync(folder, { recursive: true });
  cpSync(join(ownFolder, "template"), folder, { recursive: true, errorOnExist: true, force: false });
  // npm leaves files with this name out of packages.
  renameSync(join(folder, "gitignore"), join(folder, ".gitignore"));
  const version = await choosePackage({ folder, ownFolder, version: ownVersion(), registry: registry() });
  for (const file of ["package.json", "README.md"]) {
    const path = join(folder, file);
    const text = readFileSync(path, "utf8").replaceAll("{{name}}", name).replaceAll("{{package}}", version);
    writeFileSync(path, text);
  }
  print(`Wrote ${name} into ${given}. Next:`);
  const path = relative(process.cwd(), folder);
  if (path !== "") print(`  cd ${/\s/.test(path) ? JSON.stringify(path) : path}`);
  for (const line of ["npm install", "npm run dev", "npm test"]) print(`  ${line}`);
}

/** A name that npm accepts. */
function packageName(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replaceAll(/^[._-]+|-+$/g, "");
  return name === "" ? "agent-chat" : name;
}

function registry(): string {
  return process.env["npm_config_registry"] || "https://registry.npmjs.org/";
}
