export { type Answer, Bridge, type BridgeOptions, createBridge, type DecisionResult, type LoggedChunk, type Reading, type Reply, type Submission } from "./bridge.ts";
export type { QueuedTurn } from "./chat-queue.ts";
export { clientTool } from "./client-tool.ts";
export { idempotencyKey } from "./idempotency-key.ts";
export { type Logger, silentLogger } from "./logger.ts";
export type { ToolPolicy } from "./tool-policy.ts";
