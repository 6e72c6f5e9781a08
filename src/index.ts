export {
  Bridge,
  type BridgeOptions,
  clientTool,
  createBridge,
  idempotencyKey,
  type Logger,
  silentLogger,
  type ToolPolicy,
} from "./agent/index.ts";
