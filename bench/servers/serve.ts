import { setTimeout as sleep } from "node:timers/promises";
import type { Memory } from "../server-process.ts";

/** What the process that started this one wants of it. */
export const options: unknown = JSON.parse(process.argv[2] ?? "{}");

/** Says where the server is, and goes on until whoever started it leaves. */
export function serve(url: string): void {
  process.on("message", (wanted) => {
    if (wanted === "memory") void measure().then((memory) => process.send!(memory));
    else process.send!(worked());
  });
  process.on("disconnect", () => process.exit());
  process.send!({ url });
}

function worked(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** What is left when everything that can be collected has been. */
async function measure(): Promise<Memory> {
  for (let round = 0; round < 3; round++) {
    globalThis.gc!();
    await sleep(50);
  }
  const { rss, heapUsed } = process.memoryUsage();
  return { rss, heap: heapUsed };
}
