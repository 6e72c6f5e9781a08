/** What the processes of a torture run tell each other. */

/** What the process of a node is started with. */
export interface NodeSettings {
  /** The database, through a proxy that the run can cut. */
  url: string;
  /** The same database without the proxy, for the effects of the tools. */
  effectsUrl: string;
  gemini: string;
  leaseMs: number;
  approvalTtlMs: number;
  drainMs: number;
}

/** The tools, and what each says about a crash in the middle of it. */
export const effects = ["idempotent", "queryable", "opaque"] as const;
export type Effect = (typeof effects)[number];

/** A job for a tool: the model calls `effect` with its name and with how long it takes. */
export interface Job {
  effect: Effect;
  name: string;
  ms: number;
}

/** A message that asks for jobs. */
export function jobsToText(jobs: readonly Job[]): string {
  return jobs.map(({ effect, name, ms }) => `job ${effect} ${name} ${ms}`).join("; ");
}

export function textToJobs(text: string): Job[] {
  return [...text.matchAll(/job (idempotent|queryable|opaque) (\S+) (\d+)/g)].map(([, effect, name = "", ms]) => ({
    ...{ effect: effect as Effect, name, ms: Number(ms) },
  }));
}

/** What the model tells: long enough for something to happen in the middle. Each word occurs once. */
export const story = Array.from({ length: 24 }, (_, index) => `word-${index + 1}`).join(" ");

export const appName = "torture";
export const owner = "local";
