export {
  type Authorize,
  Bridge,
  type BridgeOptions,
  clientTool,
  createBridge,
  idempotencyKey,
  type Logger,
  type Report,
  silentLogger,
  StateConflict,
  type ToolPolicy,
} from "./agent/index.ts";
