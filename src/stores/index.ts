export { verifyAudit } from "./audit-chain.ts";
export {
  AlreadyResponded,
  type Approval,
  type ApprovalFilter,
  type AuditEntry,
  type Change,
  type DueBatch,
  type JsonObject,
  type FileStore,
  type LogEntry,
  type Moved,
  type NewApproval,
  type NewEvent,
  type NewFile,
  type NewLogEntry,
  type Session,
  type StoredMessage,
  type Store,
  type StoredEvent,
  type StoredFile,
} from "./store.ts";
export type { ChatLimits } from "./store-limits.ts";
