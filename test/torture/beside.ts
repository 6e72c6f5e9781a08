/** Loaded with `--import`: the program of a node uses the package, and what it depends on, of another folder. */
import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const folder = new URL(import.meta.url).searchParams.get("folder") ?? "";
const program = new URL("node-process.ts", import.meta.url).href;
const inFolder = pathToFileURL(join(folder, "test/torture/node-process.ts")).href;

registerHooks({
  resolve: (specifier, context, next) => {
    const isOfPackage = context.parentURL === program && !specifier.startsWith("./");
    return next(specifier, isOfPackage ? { ...context, parentURL: inFolder } : context);
  },
});
