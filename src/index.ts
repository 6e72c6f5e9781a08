export {
  type Authorize,
  Bridge,
  type BridgeLimits,
  type BridgeOptions,
  type ChatView,
  clientTool,
  createBridge,
  type FileOptions,
  idempotencyKey,
  type Logger,
  type PolicyContext,
  type Report,
  silentLogger,
  StateConflict,
  type ToolPolicy,
} from "./agent/index.ts";
export type { ApprovalCard, CardField, LocalText } from "./protocol/index.ts";
