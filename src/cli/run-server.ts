import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { basename, dirname, extname, join, resolve } from "node:path";
import process from "node:process";
import type { AgentOutline } from "../agent/index.ts";
import type { AgentServer } from "./agent-server.ts";
import { installAdk } from "./install-adk.ts";
import { canHook, hookProjectModules, type ProjectModules } from "./project-modules.ts";
import type * as ServerParts from "./server-parts.ts";
import { loadInTime } from "./load-in-time.ts";
import { canOpenBrowser, openBrowser } from "./open-browser.ts";
import { ownFolder } from "./own-package.ts";
import { requirePeers } from "./require-peers.ts";
import type { ServeArguments } from "./read-arguments.ts";
import { readSettings } from "./read-settings.ts";
import { modelSource, useScript } from "./use-model.ts";
import { watchFiles } from "./watch-files.ts";

const loopback = new Set(["127.0.0.1", "localhost", "::1"]);

/** Runs `dev` or `serve` until it is stopped. Rejects with a sentence if it cannot start. */
export async function runServer(kind: "dev" | "serve", given: ServeArguments, print: (line: string) => void) {
  // A terminal that is closed does not end the server. Without this, each line for it would be an error of its own.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  const file = requireFile(given.file);
  for (const folder of new Set([dirname(file), process.cwd()])) loadEnvironment(join(folder, ".env"));
  const settings = readSettings(process.env);
  const host = (given.host ?? settings.host ?? "127.0.0.1").replace(/^\[(.*)\]$/, "$1");
  const port = given.port ?? settings.port ?? 3000;
  // A server in production must not depend on a registry. Without hooks, Node finds packages beside the file only.
  const install = kind === "dev" && canHook ? () => installAdk(print) : undefined;
  const sharedFrom = await requirePeers(file, { install });
  const modules = hookProjectModules({ ownFolder, sharedFrom });
  // Everything that imports ADK is imported after the hooks, which decide whose ADK it is.
  const parts = await import("./server-parts.ts");

  parts.quietAdk();
  const logger = parts.createConsoleLogger({ level: settings.logLevel });
  const source = modelSource(process.env);
  const isScripted = source === "script";
  let outline: AgentOutline | undefined;
  const script = isScripted
    ? await parts.startScriptedGemini({
        ...{ rules: parts.scriptRules(() => outline), delayMs: settings.wordMs, maxRequests: 1 },
      })
    : undefined;
  if (script) useScript(process.env, script.url);

  const load = async () => {
    const loading = parts.loadAgent({ file, shown: given.file, modules, isScripted });
    const loaded = await loadInTime(loading, given.file, print);
    ({ outline } = loaded);
    return loaded;
  };
  const first = await load();
  const isOpenToOthers = !loopback.has(host);
  if (isOpenToOthers && kind === "serve" && !first.authenticate)
    throw new Error(
      `serve on ${host} needs to know who sends a request: export a function authenticate(request) from ${given.file} that returns the owner, or listen on 127.0.0.1.`,
    );
  const token = isOpenToOthers && !first.authenticate ? parts.createAccessToken() : undefined;
  const data = resolve(given.data ?? settings.dataDir ?? join(dirname(file), ".adk-stream-protocol", nameOf(file)));
  const store = await openStore(parts, settings.databaseUrl, data);
  const server = await parts
    .startAgentServer({
      ...{ first, load, store, port, host, settings, isScripted, isOpenToOthers, token, logger },
      ...{ shown: given.file, appName: nameOf(file), ask: given.ask },
      debug: settings.debug ?? (kind === "dev" || !first.authenticate),
      pageFolder: join(ownFolder, "dist", "page"),
    })
    .catch((error: unknown) => {
      throw toStartError(error, port, host);
    });

  const address = reachableUrl(server.url);
  const url = token ? token.addTo(address) : address;
  const chats = settings.databaseUrl === undefined ? data : "the database of DATABASE_URL";
  print(
    [`${first.outline.name} (${given.file}) at ${url}`, `Model: ${modelLine(source)}`, `Chats: ${chats}`].join("\n"),
  );
  const unwatch = kind === "dev" ? watchAgent(given.file, modules, server, print) : () => undefined;
  stopOnSignals(async () => {
    unwatch();
    await server.close();
    await store.close();
    await script?.close();
  });
  if (kind === "dev") keepRunning(print);
  if (given.open && canOpenBrowser(process.env, process.stdout.isTTY, process.platform))
    openBrowser(url, process.platform);
}

function requireFile(given: string): string {
  const file = resolve(given);
  if (!existsSync(file)) throw new Error(`There is no file ${given}.`);
  if (!statSync(file).isFile()) throw new Error(`${given} is not a file. Name the file that exports the agent.`);
  if (/\.[cm]?ts$/.test(file) && !canHook)
    throw new Error(`TypeScript files need Node 22.15 or newer; this is ${process.versions.node}.`);
  if (!/\.[cm]?[jt]s$/.test(file)) throw new Error(`${given} is not a TypeScript or JavaScript file.`);
  return file;
}

/** An address that other machines can open, for a server on all addresses of this one. */
function reachableUrl(url: string): string {
  const found = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === "IPv4" && !internal);
  return url.replace(/\/\/(?:0\.0\.0\.0|\[::\])/, `//${found?.address ?? "127.0.0.1"}`);
}

/** Variables that are set already stay as they are. */
function loadEnvironment(path: string): void {
  if (existsSync(path)) process.loadEnvFile(path);
}

function nameOf(file: string): string {
  return basename(file, extname(file));
}

async function openStore(parts: typeof ServerParts, databaseUrl: string | undefined, data: string) {
  if (databaseUrl !== undefined) {
    const { postgresStore } = await parts.postgres().catch((error: unknown) => {
      throw new Error("DATABASE_URL needs the package pg. Run npm install pg.", { cause: error });
    });
    return postgresStore({ url: databaseUrl });
  }
  if (existsSync(data) && !statSync(data).isDirectory()) throw new Error(`${data} is a file, not a folder for chats.`);
  try {
    mkdirSync(data, { recursive: true });
    // Chats are not part of the project.
    if (!existsSync(join(data, ".gitignore"))) writeFileSync(join(data, ".gitignore"), "*\n");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`The chats cannot be kept in ${data} (${code}). Choose another folder with --data.`, {
      cause: error,
    });
  }
  return parts.sqliteStore({ path: join(data, "chats.db") });
}

function toStartError(error: unknown, port: number, host: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE") return new Error(`Port ${port} is taken. Choose another one with --port.`);
  if (code === "EACCES") return new Error(`Port ${port} needs more rights. Choose one above 1023 with --port.`);
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") return new Error(`This machine has no address ${host}.`);
  return error;
}

function modelLine(source: ReturnType<typeof modelSource>): string {
  switch (source) {
    case "script":
      return "scripted Gemini, because there is no key. Set GOOGLE_API_KEY to use Google's.";
    case "vertex":
      return "Vertex AI";
    case "address":
      return "the address of GOOGLE_GEMINI_BASE_URL";
    case "google":
      return "Google's Gemini API";
  }
}

/** Loads the agent again after each change, one load at a time. */
function watchAgent(
  file: string,
  modules: ProjectModules,
  server: AgentServer,
  print: (line: string) => void,
): () => void {
  let loading: Promise<void> | undefined;
  let again = false;
  const reload = async () => {
    do {
      again = false;
      const problem = await server.reload(() => print("The new agent starts when the running reply has ended."));
      print(problem === undefined ? `Reloaded ${file}.` : `${problem} The last good agent keeps running.`);
    } while (again);
    loading = undefined;
  };
  const known = new Set<string>();
  return watchFiles({
    files: () => {
      // A load that fails may not reach all files, so those of earlier loads stay.
      for (const path of modules.files) known.add(path);
      return known;
    },
    since: () => modules.loadedAt,
    onChange: () => {
      again = true;
      loading ??= reload();
    },
  });
}

/** An error that a tool leaves behind must not end a development server. */
function keepRunning(print: (line: string) => void): void {
  for (const event of ["uncaughtException", "unhandledRejection"] as const)
    process.on(event, (error: unknown) => {
      print(
        `The agent's code has an error that it does not handle: ${error instanceof Error ? error.stack : String(error)}`,
      );
    });
}

function stopOnSignals(stop: () => Promise<void>): void {
  let isStopping = false;
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => {
      // A second Ctrl-C ends the process at once.
      if (isStopping) process.exit(130);
      isStopping = true;
      stop().then(
        () => process.exit(0),
        () => process.exit(1),
      );
    });
}
