/** One node of the demo: a process that can be started, killed, paused and drained. It ends with this process. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const main = fileURLToPath(new URL("../../demo/dist/server/main.js", import.meta.url));

export interface DemoNode {
  readonly port: number;
  readonly url: string;
  readonly state: NodeState;
  /** Starts the process, unless it runs. Resolves when it listens, and rejects with what it printed if it does not. */
  start(): Promise<void>;
  /** Ends the process as a crash does. */
  kill(): Promise<void>;
  /** Pauses the process, or lets it go on. */
  pause(): void;
  resume(): void;
  /** Asks the process to hand over and end. Resolves when it has ended. */
  drain(): Promise<void>;
}

export type NodeState = "starting" | "running" | "paused" | "draining" | "ended";

export interface DemoNodeOptions {
  port: number;
  /** The environment of the process, with the settings of the demo. */
  env: Record<string, string | undefined>;
  /** Gets the lines that the process prints. */
  print?: (line: string) => void;
  onChange?: () => void;
}

export function createDemoNode({ port, env, print, onChange }: DemoNodeOptions): DemoNode {
  let child: ChildProcess | undefined;
  let state: NodeState = "ended";
  const change = (next: NodeState) => {
    state = next;
    onChange?.();
  };
  const signal = async (name: NodeJS.Signals) => {
    const running = child;
    if (!running) return;
    const ended = once(running, "exit");
    running.kill(name);
    await ended;
  };

  return {
    port,
    url: `http://127.0.0.1:${port}`,
    get state() {
      return state;
    },
    async start() {
      if (child) return;
      const started = spawn(process.execPath, [main], {
        cwd: root,
        env: { ...env, PORT: String(port) },
        stdio: ["ignore", "pipe", "pipe"],
      });
      child = started;
      change("starting");
      endWithThis(started.pid);
      let printed = "";
      await new Promise<void>((resolve, reject) => {
        const read = (piece: Buffer) => {
          if (state === "starting") printed += String(piece);
          else for (const line of String(piece).trimEnd().split("\n")) print?.(line);
          if (state !== "starting" || !printed.includes("Demo at ")) return;
          change("running");
          resolve();
        };
        started.stdout.on("data", read);
        started.stderr.on("data", read);
        started.once("exit", () => {
          child = undefined;
          change("ended");
          reject(new Error(`The node at port ${port} did not start: ${printed.trim() || "it printed nothing"}`));
        });
      });
    },
    kill: () => signal("SIGKILL"),
    pause() {
      if (state !== "running" || !child?.kill("SIGSTOP")) return;
      change("paused");
    },
    resume() {
      if (state !== "paused" || !child?.kill("SIGCONT")) return;
      change("running");
    },
    async drain() {
      if (state === "paused") child?.kill("SIGCONT");
      if (child) change("draining");
      await signal("SIGTERM");
    },
  };
}

/** A shell waits for the end of this process, however it ends, and ends the other one then. */
function endWithThis(pid: number | undefined): void {
  if (pid === undefined || process.platform === "win32") return;
  const script =
    'while kill -0 "$1" 2>/dev/null && kill -0 "$2" 2>/dev/null; do sleep 1; done; ' +
    'kill -0 "$1" 2>/dev/null || kill -9 "$2" 2>/dev/null';
  const args = ["-c", script, "sh", String(process.pid), String(pid)];
  spawn("/bin/sh", args, { detached: true, stdio: "ignore", cwd: "/" }).unref();
}
