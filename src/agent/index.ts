/**
 * The agent's side: ADK in, chunks out. Knows no sockets. Read `turn.ts` first.
 *
 *   bridge.ts       what wires and applications call; only delegates
 *   chat/           who is next in a chat: requests, answers, turns in order, recovery
 *   turn.ts         one turn from top to bottom
 *   conversation/   how a turn talks to the model, by request or over a live connection
 *   approval/       holding, deciding and executing calls
 *   log/            what readers get: events to chunks to log to messages
 *   files/          attachments, pictures and large outputs: stored once, beside the log
 *   adk/            everything that touches ADK, with the repairs it needs
 *   support/        small helpers
 */
import process from "node:process";
import { requireNode } from "../protocol/require-node.ts";

export {
  type AgentOutline,
  clientTool,
  createModelRecord,
  defineAgent,
  type DefinedToolOptions,
  defineTool,
  findOtherModel,
  idempotencyKey,
  memoryServices,
  type ModelExchange,
  type ModelRecord,
  outlineAgent,
  quietAdk,
} from "./adk/index.ts";
export type { Authorize, PolicyContext, ToolPolicy } from "./approval/index.ts";
export { Bridge, createBridge } from "./bridge.ts";
export type { BridgeLimits } from "./bridge-limits.ts";
export type { BridgeOptions } from "./bridge-options.ts";
export {
  type Answer,
  type ChatView,
  type HeldReading,
  type Reading,
  type Reply,
  type Report,
  StateConflict,
  type Submission,
  type Submitted,
} from "./chat/index.ts";
export type { FileOptions } from "./files/index.ts";
export { isPause, type LogReader, ReplyMoved } from "./log/index.ts";
export {
  consoleLogger,
  type ConsoleLoggerOptions,
  createConsoleLogger,
  inPlace,
  type Logger,
  metrics,
  silentLogger,
} from "./support/index.ts";
export type { LogEntry, Store } from "../stores/index.ts";

// Said when the package is imported, and not by a failure in the middle of a chat.
requireNode("adk-stream-protocol", process.versions);
