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

/** Tools that have an effect, and what each says about a crash in the middle of it. */
export const effects = ["idempotent", "queryable", "opaque"] as const;

/** All tools: those, a long-running one whose end is reported, and one that runs in the page. Each asks before it runs. */
export const kinds = [...effects, "reported", "page"] as const;
export type Kind = (typeof kinds)[number];

/** A job for a tool: the model calls the tool with the name of the job and with how long it takes. */
export interface Job {
  kind: Kind;
  name: string;
  ms: number;
}

/** The agent that is run as a tool. It has all the tools, too. */
export const clerk = "clerk";
const forClerk = `${clerk}: `;

/** A message that asks for jobs. The clerk passes them on to its own model. */
export function jobsToText(jobs: readonly Job[], isForClerk = false): string {
  return (isForClerk ? forClerk : "") + jobs.map(({ kind, name, ms }) => `job ${kind} ${name} ${ms}`).join("; ");
}

/** What the clerk is asked to do; undefined for a message that is not for it. */
export function textForClerk(text: string): string | undefined {
  return text.startsWith(forClerk) ? text.slice(forClerk.length) : undefined;
}

export function textToJobs(text: string): Job[] {
  return [...text.matchAll(/job (\S+) (\S+) (\d+)/g)].flatMap(([, kind = "", name = "", ms]) =>
    isKind(kind) ? [{ kind, name, ms: Number(ms) }] : [],
  );
}

function isKind(word: string): word is Kind {
  return (kinds as readonly string[]).includes(word);
}

/** What a job has as its result, which occurs nowhere else: neither in its arguments nor in what the model says. */
export const resultOf = (name: string) => `result-of-${name}`;

/** What the model tells: long enough for something to happen in the middle. Each word occurs once. */
export const story = Array.from({ length: 24 }, (_, index) => `word-${index + 1}`).join(" ");

export const appName = "torture";
export const owner = "local";
