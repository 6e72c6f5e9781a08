// Builds the package and the demo, if their sources have changed since the last build.
//
//   node scripts/build.mjs           both
//   node scripts/build.mjs package   the package only
//
// Servers may run from these folders, and several may be started at the same moment. So one process builds at a time, into
// a new folder that takes the place of the old one when it is complete.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { delimiter, join, relative } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { withLock } from "./with-lock.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const env = { ...process.env, PATH: [join(root, "node_modules", ".bin"), process.env.PATH].join(delimiter) };
/** What every build depends on. The lock file stands for the dependencies. */
const common = ["package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json", "scripts/build.mjs"];
const sources = ["src/**/*.{ts,tsx,css}"];
const demoSources = ["demo/{page,script,server}/**/*", "demo/*.{ts,json}"];

/**
 * @typedef {object} Part
 * @property {string} folder Where the result is.
 * @property {string[]} inputs What the result is made of.
 * @property {(folder: string) => string[]} commands Shell commands that write the result into a folder.
 */

/** @type {Part} */
const packagePart = {
  folder: "dist",
  inputs: [...common, ...sources],
  commands: (folder) => [
    `tsc -p tsconfig.build.json --outDir ${folder}`,
    `cp src/react/styles.css ${folder}/react`,
    // Without it, TypeScript 6 and newer refuse to import the stylesheet in projects that declare no `*.css`.
    `echo "export {};" > ${folder}/react/styles.css.d.ts`,
  ],
};

/** @type {Part} */
const demoPart = {
  folder: "demo/dist",
  inputs: [...common, ...sources, ...demoSources],
  commands: (folder) => [
    `tsc -p demo/tsconfig.build.json --outDir ${folder}`,
    ...["v7", "v6"].map(
      (page) => `cd demo && vite build --logLevel warn --mode ${page} --outDir ${join(root, folder, `page-${page}`)}`,
    ),
  ],
};

const parts = process.argv[2] === "package" ? [packagePart] : [packagePart, demoPart];
const isComplete = await withLock(
  join(root, ".build.lock"),
  () => parts.every((part) => isBuilt(part) || build(part)) && copyPage(),
);
process.exitCode = isComplete ? 0 : 1;

/**
 * The command `adk-stream-protocol` serves the demo's page, so the package has a copy of it. The page imports the package,
 * so it is built after it.
 */
function copyPage() {
  const [built, page] = [join(root, "demo/dist/page-v7"), join(root, "dist/page")];
  const stamp = existsSync(built) ? hashOf(demoPart.inputs) : "";
  const isCopied = existsSync(join(page, ".stamp")) && readFileSync(join(page, ".stamp"), "utf8") === stamp;
  if (stamp === "" || isCopied) return true;
  const next = `${page}.next`;
  for (const left of [next, page]) rmSync(left, { recursive: true, force: true });
  // One person uses it at a time, over a short way. The compressed forms would make the package larger.
  cpSync(built, next, { recursive: true, filter: (path) => !/\.(?:br|gz|map)$/.test(path) });
  writeFileSync(join(next, ".stamp"), stamp);
  renameSync(next, page);
  return true;
}

/** @param {Part} part */
function isBuilt({ folder, inputs }) {
  const stamp = join(root, folder, ".stamp");
  return existsSync(stamp) && readFileSync(stamp, "utf8") === hashOf(inputs);
}

/**
 * Returns whether the build succeeded.
 *
 * @param {Part} part
 */
function build({ folder, inputs, commands }) {
  const [next, old] = [`${folder}.next`, `${folder}.old`];
  const hash = hashOf(inputs);
  for (const left of [next, old]) rmSync(join(root, left), { recursive: true, force: true });
  mkdirSync(join(root, next), { recursive: true });
  for (const command of commands(next))
    if (spawnSync(command, { cwd: root, env, shell: true, stdio: "inherit" }).status !== 0) return false;
  writeFileSync(join(root, next, ".stamp"), hash);
  for (const command of globSync(`${next}/cli/main.js`, { cwd: root })) chmodSync(join(root, command), 0o755);
  if (existsSync(join(root, folder))) renameSync(join(root, folder), join(root, old));
  renameSync(join(root, next), join(root, folder));
  rmSync(join(root, old), { recursive: true, force: true });
  return true;
}

/**
 * @param {string[]} patterns
 * @returns {string}
 */
function hashOf(patterns) {
  const hash = createHash("sha256");
  const files = globSync(patterns, { cwd: root, withFileTypes: true }).filter(
    (entry) => entry.isFile() && !/\.test\.tsx?$/.test(entry.name),
  );
  for (const file of files.map(({ parentPath, name }) => join(parentPath, name)).toSorted()) {
    const content = readFileSync(file);
    // A copy of the folder needs no build of its own.
    hash.update(`${relative(root, file)} ${content.length}\n`).update(content);
  }
  return hash.digest("hex");
}
