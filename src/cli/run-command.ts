import process from "node:process";
import { helpText } from "./help-text.ts";
import { ownVersion } from "./own-package.ts";
import { readArguments } from "./read-arguments.ts";

const print = (line: string) => void process.stdout.write(`${line}\n`);

/** Runs what the command line asks for. If it cannot be started, prints one sentence and exits with 1. */
export async function runCommand(args: readonly string[]): Promise<void> {
  try {
    const command = readArguments(args);
    switch (command.name) {
      case "help":
        return print(helpText.trimEnd());
      case "version":
        return print(ownVersion());
      case "init":
        return await (await import("./init.ts")).init(command.folder, print);
      case "dev":
      case "serve":
        return await (await import("./run-server.ts")).runServer(command.name, command, print);
    }
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}
