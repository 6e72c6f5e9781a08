export {
  Bridge,
  type BridgeOptions,
  clientTool,
  createBridge,
  idempotencyKey,
  type Logger,
  type PolicyContext,
  silentLogger,
  type ToolPolicy,
} from "./agent/index.ts";
