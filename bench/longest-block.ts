import { monitorEventLoopDelay } from "node:perf_hooks";

/** How often the event loop is looked at. A delay up to here means that nothing was blocked. */
const resolutionMs = 1;

/** The longest time, in milliseconds, in which the event loop of a process did not come round. */
export interface Block {
  /** By the clock. Includes the time in which other processes had the processor, or the disk was slow. */
  wall: number;
  /** Time that the thread itself was working. Other processes do not affect it. */
  cpu: number;
}

/** Measures for how long the event loop of this process was blocked. */
export class LongestBlock {
  readonly #delays = monitorEventLoopDelay({ resolution: resolutionMs });
  #timer: NodeJS.Timeout | undefined;
  #cpu = 0;

  /** Begins to measure. What was before is forgotten. */
  start(): void {
    this.#delays.reset();
    this.#delays.enable();
    this.#cpu = 0;
    let before = process.threadCpuUsage();
    this.#timer = setInterval(() => {
      const { user, system } = process.threadCpuUsage(before);
      this.#cpu = Math.max(this.#cpu, user + system);
      before = process.threadCpuUsage();
    }, resolutionMs);
  }

  /** The longest block since `start`. */
  stop(): Block {
    clearInterval(this.#timer);
    this.#delays.disable();
    return { wall: Math.max(0, this.#delays.max / 1e6 - resolutionMs), cpu: this.#cpu / 1000 };
  }
}
