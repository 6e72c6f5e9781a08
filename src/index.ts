export {
  Bridge,
  type BridgeOptions,
  clientTool,
  createBridge,
  idempotencyKey,
  type Logger,
  type ToolPolicy,
} from "./agent/index.ts";
