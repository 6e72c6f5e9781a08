import type { BaseAgent, BasePlugin } from "@google/adk";
import type { AdkServices } from "./adk/index.ts";
import { type BridgeLimits, readBridgeLimits } from "./bridge-limits.ts";
import type { Store } from "../stores/index.ts";
import { type Authorize, checkPolicies, type PolicyOptions } from "./approval/index.ts";
import { checkFileOptions, type FileOptions } from "./files/index.ts";
import type { MakeTitle, RetentionOptions } from "./chat/index.ts";
import type { LiveOptions } from "./conversation/index.ts";
import { checkNumber, type Logger } from "./support/index.ts";

/** How `createBridge` makes a bridge. Only `agent` and `store` are required. */
export interface BridgeOptions extends PolicyOptions, AdkServices {
  /** The root agent. */
  agent: BaseAgent;
  /** Where chats, messages and approvals are kept: `sqliteStore`, `postgresStore` or `memoryStore`. */
  store: Store;
  /**
   * Whose rows these are in a store that several bridges share: a bridge sees only the chats of its app. Keep it when you
   * rename the agent. Default: the name of the agent.
   */
  appName?: string;
  /** Who may decide about a call. Default: every actor of the chat's owner. */
  authorize?: Authorize;
  /** Your own ADK plugins; they run after the gate. Default: none. */
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
  /** What owners may use, each alone and all together. Default: the limits named there, far above what people do. */
  limits?: Partial<BridgeLimits>;
  /** Which files users may attach, and how files travel. See docs/files.md. Default: pictures, sound, text and PDF up to 10 MiB. */
  files?: FileOptions;
  /** Outputs of tools with more bytes of JSON travel as a preview with an address. Default 256 KiB. */
  largeOutputBytes?: number;
  /** How long chats and chunks are kept. Default: chats for ever, chunks of finished turns for a day. */
  retention?: RetentionOptions;
  /** Makes the title of a chat from its first message, within 30 seconds. Default: the first words of the message. */
  title?: MakeTitle;
  /** How a Gemini Live model is reached. Default: the agent's own model, with the limits named there. */
  live?: LiveOptions;
  /**
   * Receives details. Default: warnings and errors go to the console. `createConsoleLogger({ level: "info" })` also prints
   * a line for every question, decision, claim and outcome; `silentLogger` drops everything.
   */
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

const retentionNumbers = {
  chatsMs: "positive duration",
  chunksMs: "duration",
} as const satisfies Record<keyof RetentionOptions, string>;

/** A method that each service has. */
const services = {
  artifactService: "saveArtifact",
  memoryService: "searchMemory",
  credentialService: "loadCredential",
} as const satisfies Record<keyof AdkServices, string>;

/** Throws a sentence that names the first wrong option. JavaScript callers, and values from the environment, need this. */
export function checkOptions(options: BridgeOptions): void {
  const { agent, store, live = {}, retention = {} } = options as Partial<BridgeOptions>;
  if (!agent) throw new Error("createBridge needs an agent: createBridge({ agent, store }).");
  if (typeof store?.openChat !== "function")
    throw new Error("createBridge needs a store, for example memoryStore() or sqliteStore({ path }).");
  const { appName = "default" } = options as { appName?: unknown };
  if (typeof appName !== "string" || appName === "" || /\p{Surrogate}|\0/u.test(appName))
    throw new Error("The option appName must be well-formed text that is not empty.");
  if (options.authorize !== undefined && typeof options.authorize !== "function")
    throw new Error("The option authorize must be a function (actor, approval, decision) that returns true or false.");
  for (const [name, method] of Object.entries(services)) {
    const service: unknown = options[name as keyof AdkServices];
    if (service !== undefined && typeof (service as Record<string, unknown> | null)?.[method] !== "function")
      throw new Error(`The option ${name} must be a service of ADK, with a method ${method}.`);
  }
  for (const [name, kind] of Object.entries(numbers)) checkNumber(name, options[name as keyof typeof numbers], kind);
  for (const [name, kind] of Object.entries(liveNumbers))
    checkNumber(`live.${name}`, live[name as keyof typeof liveNumbers], kind);
  readBridgeLimits(options.limits);
  checkFileOptions(options);
  for (const [name, kind] of Object.entries(retentionNumbers))
    checkNumber(`retention.${name}`, retention[name as keyof typeof retentionNumbers], kind);
  if (options.title !== undefined && typeof options.title !== "function")
    throw new Error("The option title must be a function (message) that returns a text.");
  checkPolicies(options);
}
