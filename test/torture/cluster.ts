/** The processes of a torture run: PostgreSQL, the model, the nodes, and the proxies between them, all on this machine. */
import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { type CutProxy, openCutProxy } from "../fixtures/cut-proxy.ts";
import { type PostgresPair, startPostgresPair } from "../fixtures/postgres-pair.ts";
import { type Balancer, openBalancer } from "./balancer.ts";
import { Handovers } from "./handovers.ts";
import { randomFrom } from "./random.ts";
import type { NodeSettings } from "./settings.ts";

export interface ClusterOptions {
  /** Decides which node gets a connection. */
  seed: number;
  nodes: number;
  leaseMs: number;
  approvalTtlMs: number;
  /** The folder of another release, which the last node runs. */
  beside?: string | undefined;
}

export interface Cluster {
  leaseMs: number;
  postgres: PostgresPair;
  /** The database, without the proxy of a node. */
  url: string;
  nodes: readonly TortureNode[];
  balancer: Balancer;
  handovers: Handovers;
  /** What the nodes logged as errors, with how often. */
  errors: Map<string, number>;
  /** Nodes that ended without being told to. */
  deaths: string[];
  /** How many requests the model got, and what it refused in them. */
  modelRequests(): Promise<{ requests: number; refused: string[] }>;
  close(): Promise<void>;
}

const file = (name: string) => join(import.meta.dirname, name);

export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const { seed, nodes: count, leaseMs, approvalTtlMs, beside } = options;
  const cache = mkdtempSync(join(tmpdir(), "torture-cache-"));
  const postgres = await startPostgresPair();
  const url = await postgres.createDatabase("torture");
  await createTables(url);
  const gemini = start(file("gemini-process.ts"), {}, cache);
  const { url: model } = (await messageOf(gemini)) as { url: string };
  const errors = new Map<string, number>();
  const note = (error: string) => {
    const what = error.replaceAll(/[0-9a-f]{32}/g, "…").replace(/\\n.*/s, "");
    errors.set(what, (errors.get(what) ?? 0) + 1);
  };
  const deaths: string[] = [];
  const proxies = await Promise.all(
    Array.from({ length: count }, () => openCutProxy(url.replace(/^postgres/, "http"))),
  );
  const nodes = proxies.map((proxy, index) => {
    const through = new URL(url);
    through.port = new URL(proxy.url).port;
    const settings: NodeSettings = {
      ...{ url: through.href, effectsUrl: url, gemini: model, leaseMs, approvalTtlMs },
      drainMs: leaseMs,
    };
    const release = index === count - 1 ? beside : undefined;
    return new TortureNode(`node ${index + 1}`, proxy, () => start(file("node-process.ts"), settings, cache, release), {
      onError: note,
      onDeath: (how) => deaths.push(`node ${index + 1} ended by itself: ${how}`),
    });
  });
  await Promise.all(nodes.map((node) => node.start()));
  const balancer = await openBalancer(() => nodes.flatMap((node) => node.url ?? []), randomFrom(seed, "balancer"));
  return {
    ...{ leaseMs, postgres, url, nodes, balancer, errors, deaths },
    handovers: new Handovers(url),
    async modelRequests() {
      gemini.send("requests");
      return (await messageOf(gemini)) as { requests: number; refused: string[] };
    },
    async close() {
      await balancer.close();
      await Promise.all(nodes.map((node) => node.kill()));
      await Promise.all(proxies.map((proxy) => proxy.close()));
      gemini.kill("SIGKILL");
      await postgres.stop();
      rmSync(cache, { recursive: true, force: true });
    },
  };
}

/** How long a node may take to end. On a busy machine all of them at once need long. */
const endMs = 90_000;

interface NodeListener {
  onError: (error: string) => void;
  onDeath: (how: string) => void;
}

/** One node, which can die and be started again. */
export class TortureNode {
  readonly name: string;
  /** Between the node and the database. */
  readonly proxy: CutProxy;
  readonly #begin: () => ChildProcess;
  readonly #listener: NodeListener;
  #process: { child: ChildProcess; exited: Promise<unknown> } | undefined;
  /** Where it listens, unless its process is known to be gone. */
  url: string | undefined;
  /** What its store calls the process that was started last. */
  id = "";
  /** What the process waits for before it ends. */
  #closing = "nothing";

  constructor(name: string, proxy: CutProxy, begin: () => ChildProcess, listener: NodeListener) {
    this.name = name;
    this.proxy = proxy;
    this.#begin = begin;
    this.#listener = listener;
  }

  /** Starts a process. One that ends at once, because the database is away, is started again. */
  async start(): Promise<void> {
    for (let attempt = 0; ; attempt += 1) {
      const child = this.#begin();
      const exited = once(child, "exit");
      this.#process = { child, exited };
      try {
        this.#closing = "nothing";
        const listening = new Promise<string>((listens) => {
          // It may log errors before it listens.
          child.on("message", (message: { url?: string; id?: string; error?: string; closing?: string }) => {
            this.id = message.id ?? this.id;
            this.#closing = message.closing ?? this.#closing;
            if (message.url !== undefined) listens(message.url);
            if (message.error !== undefined) this.#listener.onError(message.error);
          });
        });
        const ended = exited.then(() => Promise.reject(new Error(`${this.name} ended before it listened.`)));
        const url = await Promise.race([listening, ended]);
        child.once("exit", (code, signal) => {
          if (this.url === url) this.url = undefined;
          if (this.#process?.child !== child) return;
          this.#listener.onDeath(String(signal ?? code));
          this.start().catch((error: unknown) => this.#listener.onDeath(String(error)));
        });
        this.url = url;
        return;
      } catch (error) {
        if (attempt === 20) throw error;
        await delay(200);
      }
    }
  }

  /** Ends it at once, as a crash does. */
  async kill(): Promise<void> {
    this.url = undefined;
    await this.#end("SIGKILL");
  }

  /** Stops it in order. The balancer goes on sending requests to it. */
  drain(): Promise<void> {
    return this.#end("SIGTERM");
  }

  /** Stops all its threads for a while. A shell wakes it, so that it does not sleep for ever if this process dies. */
  async pause(ms: number): Promise<void> {
    const pid = this.#process?.child.pid;
    if (pid === undefined) return;
    process.kill(pid, "SIGSTOP");
    const waker = spawn("/bin/sh", ["-c", 'sleep "$1"; kill -CONT "$2"', "sh", String(ms / 1000), String(pid)], {
      stdio: "ignore",
    });
    await once(waker, "exit");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (!running || running.child.exitCode !== null || running.child.signalCode !== null) return;
    running.child.kill(signal);
    // A node that does not end in time is a defect, but it must not keep the run from ending.
    const timer = setTimeout(() => {
      this.#listener.onDeath(`${this.name} did not end after ${signal}; it waits for: ${this.#closing}.`);
      running.child.kill("SIGKILL");
    }, endMs);
    await running.exited;
    clearTimeout(timer);
  }
}

/** Starts a program; with `release`, the names of the package lead to the one in that folder. */
function start(program: string, settings: object, cache: string, release?: string): ChildProcess {
  const beside = pathToFileURL(file("beside.ts"));
  beside.searchParams.set("folder", resolve(release ?? ""));
  return fork(program, [JSON.stringify(settings)], {
    env: { ...process.env, NODE_COMPILE_CACHE: cache, NODE_OPTIONS: "" },
    execArgv: ["--disable-warning=ExperimentalWarning", ...(release === undefined ? [] : ["--import", beside.href])],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
}

async function messageOf(child: ChildProcess): Promise<unknown> {
  const gone = new AbortController();
  const onExit = () => gone.abort();
  child.once("exit", onExit);
  try {
    const [message] = (await once(child, "message", { signal: gone.signal })) as [unknown];
    return message;
  } finally {
    child.off("exit", onExit);
  }
}

async function createTables(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`
    CREATE SCHEMA torture;
    CREATE TABLE torture.attempt (id text PRIMARY KEY, key text NOT NULL);
    CREATE TABLE torture.effect (id text PRIMARY KEY, effect text NOT NULL, key text NOT NULL, name text NOT NULL);
  `);
  await client.end();
}
