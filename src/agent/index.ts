export type { Answer } from "./answers.ts";
export { Bridge, type BridgeOptions, createBridge, type Reading, type Reply, type Submission } from "./bridge.ts";
export { clientTool } from "./client-tool.ts";
export { idempotencyKey } from "./idempotency-key.ts";
export { consoleLogger, type Logger, silentLogger } from "./logger.ts";
export type { ToolPolicy } from "./tool-policy.ts";
export type { LogEntry } from "../stores/index.ts";
