import { setTimeout as sleep } from "node:timers/promises";
import { LongestBlock } from "../longest-block.ts";
import type { Memory } from "../server-process.ts";

const block = new LongestBlock();

/** The options from the process that started this one. */
export const options: unknown = JSON.parse(process.argv[2] ?? "{}");

/** Reports the address of the server, and keeps it running until the process that started it disconnects. */
export function serve(url: string): void {
  process.on("message", (wanted) => {
    if (wanted === "memory") void measure().then((memory) => process.send?.(memory));
    else if (wanted === "held") void measure("last-resort").then((memory) => process.send?.(memory));
    else if (wanted === "startBlock") {
      block.start();
      process.send?.(true);
    } else if (wanted === "stopBlock") process.send?.(block.stop());
    else process.send?.(cpuTime());
  });
  process.on("disconnect", () => process.exit());
  process.send?.({ url });
}

function cpuTime(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** The memory after several garbage collections. Those of the last resort also give back the room for new objects. */
async function measure(flavor: "regular" | "last-resort" = "regular"): Promise<Memory> {
  for (let round = 0; round < 3; round++) {
    globalThis.gc?.({ type: "major", execution: "sync", flavor });
    await sleep(50);
  }
  const { rss, heapUsed } = process.memoryUsage();
  return { rss, heap: heapUsed };
}
