#!/usr/bin/env node
// Runs on any Node: what is too new for an old one is imported after the check.
import module from "node:module";
import process from "node:process";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 13)) {
  process.stderr.write(`adk-stream-protocol needs Node 22.13 or newer; this is ${process.versions.node}.\n`);
  process.exit(1);
}
// Most of a start is compiling ADK, and Node can keep what it has compiled.
module.enableCompileCache();
// Node says once per process that removing types is experimental, that SQLite is, that ADK uses an old module, and that an
// agent file with imports has no package.json that says so.
const warn = process.emitWarning;
process.emitWarning = (warning, ...rest) => {
  if (!/stripTypeScriptTypes|SQLite|Type Stripping|punycode|doesn't parse as CommonJS/.test(String(warning)))
    Reflect.apply(warn, process, [warning, ...rest]);
};
void import("./run-command.ts").then(({ runCommand }) => runCommand(process.argv.slice(2)));
