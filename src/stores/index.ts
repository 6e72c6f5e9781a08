export { verifyAudit } from "./audit-chain.ts";
export {
  AlreadyResponded,
  type Approval,
  type ApprovalFilter,
  type AuditEntry,
  type Change,
  type DueBatch,
  type JsonObject,
  type LogEntry,
  type Moved,
  type NewApproval,
  type NewEvent,
  type NewLogEntry,
  type Session,
  type StoredMessage,
  type Store,
  type StoredEvent,
} from "./store.ts";
