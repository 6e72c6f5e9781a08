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
export { clientTool, defineAgent, type DefinedToolOptions, defineTool, idempotencyKey } from "./adk/index.ts";
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
export { isPause, ReplyMoved } from "./log/index.ts";
export {
  consoleLogger,
  type ConsoleLoggerOptions,
  createConsoleLogger,
  type Logger,
  metrics,
  silentLogger,
} from "./support/index.ts";
export type { LogEntry } from "../stores/index.ts";
