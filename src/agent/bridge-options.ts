import type { BaseAgent, BasePlugin } from "@google/adk";
import type { Store } from "../stores/index.ts";
import type { ToolPolicy } from "./approval/index.ts";
import type { LiveOptions } from "./conversation/index.ts";
import type { Logger } from "./support/index.ts";

export interface BridgeOptions {
  agent: BaseAgent;
  store: Store;
  appName?: string;
  /** What the server knows about tools, by name: which to ask about, and what a crash in the middle of one means. */
  tools?: Record<string, ToolPolicy>;
  /** Your own ADK plugins; they run after the gate. */
  plugins?: BasePlugin[];
  /** How long a person has to answer. Default 15 minutes. */
  approvalTtlMs?: number;
  /** How long after a yes a call may still start. Default 5 minutes. */
  startMs?: number;
  /** How many questions one chat may have open. Default 32. */
  maxPending?: number;
  /** How often one turn may ask the model; in live mode, how often the model may call tools. Default 50. */
  maxLlmCalls?: number;
  /** How long new text waits for a running tool. Default 1 second. */
  graceMs?: number;
  /** How long a claim lasts unless its executor renews it. Default 10 seconds. */
  leaseMs?: number;
  /** How often the bridge looks for expired approvals and lost claims; 0 leaves it to calls of `sweep`. Default 1 second. */
  sweepMs?: number;
  /**
   * How long closing waits for running tools, in all. The outcome of a tool that is cut off may never be known. Default 5
   * seconds.
   */
  drainMs?: number;
  /** How a Gemini Live model is reached. */
  live?: LiveOptions;
  /** Receives details. Default: warnings and errors go to the console. `silentLogger` drops everything. */
  logger?: Logger;
}

/** The options that are numbers, and what each may be. */
const numbers = {
  approvalTtlMs: "duration",
  startMs: "duration",
  graceMs: "duration",
  sweepMs: "duration",
  drainMs: "duration",
  leaseMs: "positive duration",
  maxPending: "count",
  maxLlmCalls: "positive count",
} as const satisfies Partial<Record<keyof BridgeOptions, string>>;

const liveNumbers = {
  connectMs: "positive duration",
  silenceMs: "positive duration",
  idleMs: "duration",
} as const satisfies Partial<Record<keyof NonNullable<BridgeOptions["live"]>, string>>;

type Kind = (typeof numbers)[keyof typeof numbers];

/** Throws a sentence that names the first wrong option. JavaScript callers, and values from the environment, need this. */
export function checkOptions(options: BridgeOptions): void {
  const { agent, store, live = {} } = options as Partial<BridgeOptions>;
  if (!agent) throw new Error("createBridge needs an agent: createBridge({ agent, store }).");
  if (typeof store?.openChat !== "function")
    throw new Error("createBridge needs a store, for example memoryStore() or sqliteStore({ path }).");
  for (const [name, kind] of Object.entries(numbers)) checkNumber(name, options[name as keyof typeof numbers], kind);
  for (const [name, kind] of Object.entries(liveNumbers))
    checkNumber(`live.${name}`, live[name as keyof typeof liveNumbers], kind);
}

function checkNumber(name: string, value: unknown, kind: Kind): void {
  if (value === undefined) return;
  const isCount = kind.endsWith("count");
  const isValid = typeof value === "number" && (isCount ? Number.isSafeInteger(value) : !Number.isNaN(value));
  if (isValid && (kind.startsWith("positive") ? value > 0 : value >= 0)) return;
  const expected = isCount ? "a whole number" : "a number of milliseconds";
  const range = kind.startsWith("positive") ? "greater than 0" : "0 or more";
  const got = typeof value === "number" ? value : JSON.stringify(value);
  throw new Error(`The option ${name} must be ${expected}, ${range}; it is ${got}.`);
}
