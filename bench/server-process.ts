import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

/** A server in a process of its own: what the client does costs it nothing, and its memory is its own. */
export interface ServerProcess {
  readonly url: string;
  /** After a garbage collection, in bytes. */
  memory(): Promise<Memory>;
  /** Microseconds it has worked so far: unlike the clock, these do not count what others do on the machine. */
  worked(): Promise<number>;
  stop(): Promise<void>;
}

export interface Memory {
  rss: number;
  heap: number;
}

const files = {
  "bare-socket": new URL("./servers/bare-socket.ts", import.meta.url),
  bridge: new URL("./servers/bridge.ts", import.meta.url),
  "run-sse": new URL("./servers/run-sse.ts", import.meta.url),
  "scripted-gemini": new URL("./servers/scripted-gemini.ts", import.meta.url),
};

/** Starts a file of `servers/`. `BENCH_PROFILE=directory` writes a CPU profile of each when it stops. */
export async function startServer(name: keyof typeof files, options: object = {}): Promise<ServerProcess> {
  const profiles = process.env["BENCH_PROFILE"];
  const child = fork(files[name], [JSON.stringify(options)], {
    execArgv: ["--expose-gc", ...(profiles ? ["--cpu-prof", `--cpu-prof-dir=${profiles}`] : [])],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const { url } = (await answerOf(child, name)) as { url: string };
  return {
    url,
    async memory() {
      child.send("memory");
      return (await answerOf(child, name)) as Memory;
    },
    async worked() {
      child.send("worked");
      return (await answerOf(child, name)) as number;
    },
    async stop() {
      const exited = once(child, "exit");
      child.disconnect();
      await exited;
    },
  };
}

async function answerOf(child: ChildProcess, name: string): Promise<unknown> {
  const gone = new AbortController();
  const onExit = () => gone.abort(new Error(`The server ${name} ended before it answered.`));
  child.once("exit", onExit);
  try {
    const [answer] = (await once(child, "message", { signal: gone.signal })) as [unknown];
    return answer;
  } finally {
    child.off("exit", onExit);
  }
}
