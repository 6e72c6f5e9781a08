import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Block } from "./longest-block.ts";

/** A server in its own process, so that neither its time nor its memory includes the client's. */
export interface ServerProcess {
  readonly url: string;
  /** The memory after a garbage collection, in bytes. */
  memory(): Promise<Memory>;
  /** The same, without the room for new objects that V8 has touched and keeps for a while. */
  heldMemory(): Promise<Memory>;
  /** The CPU time of the process so far, in microseconds. Other processes do not affect it. */
  cpuTime(): Promise<number>;
  /** Begins to measure for how long the event loop is blocked. */
  startBlock(): Promise<void>;
  /** The longest block since then. */
  stopBlock(): Promise<Block>;
  stop(): Promise<void>;
}

/** Resident set size and heap, in bytes. */
export interface Memory {
  rss: number;
  heap: number;
}

const files = {
  "bare-socket": new URL("./servers/bare-socket.ts", import.meta.url),
  bridge: new URL("./servers/bridge.ts", import.meta.url),
  owners: new URL("./servers/owners.ts", import.meta.url),
  "plain-gemini": new URL("./servers/plain-gemini.ts", import.meta.url),
  "postgres-node": new URL("./servers/postgres-node.ts", import.meta.url),
  "run-sse": new URL("./servers/run-sse.ts", import.meta.url),
  "scripted-gemini": new URL("./servers/scripted-gemini.ts", import.meta.url),
};

/** Starts a file of `servers/`. With `BENCH_PROFILE=directory` each server writes a CPU profile there when it stops. */
export async function startServer(name: keyof typeof files, options: object = {}): Promise<ServerProcess> {
  const profiles = process.env["BENCH_PROFILE"];
  const child = fork(files[name], [JSON.stringify(options)], {
    execArgv: ["--expose-gc", ...(profiles ? ["--cpu-prof", `--cpu-prof-dir=${profiles}`] : [])],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const { url } = (await messageOf(child, name)) as { url: string };
  return {
    url,
    async memory() {
      child.send("memory");
      return (await messageOf(child, name)) as Memory;
    },
    async heldMemory() {
      child.send("held");
      return (await messageOf(child, name)) as Memory;
    },
    async cpuTime() {
      child.send("cpuTime");
      return (await messageOf(child, name)) as number;
    },
    async startBlock() {
      child.send("startBlock");
      await messageOf(child, name);
    },
    async stopBlock() {
      child.send("stopBlock");
      return (await messageOf(child, name)) as Block;
    },
    async stop() {
      const exited = once(child, "exit");
      child.disconnect();
      await exited;
    },
  };
}

async function messageOf(child: ChildProcess, name: string): Promise<unknown> {
  const gone = new AbortController();
  const onExit = () => gone.abort(new Error(`The server ${name} ended before it sent a message.`));
  child.once("exit", onExit);
  try {
    const [message] = (await once(child, "message", { signal: gone.signal })) as [unknown];
    return message;
  } finally {
    child.off("exit", onExit);
  }
}
