export { verifyAudit } from "./audit-chain.ts";
export {
  AlreadyResponded,
  type Approval,
  type ApprovalFilter,
  type AuditEntry,
  type AuditHash,
  type Change,
  type ChatPlace,
  type DueBatch,
  type JsonObject,
  type FileStore,
  type ListedApproval,
  type ListedChat,
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
  type TurnOrigin,
} from "./store.ts";
export { type ChatLease, type LeaseStore, NotOwner, type Posted } from "./lease-store.ts";
export type { ChatLimits } from "./store-limits.ts";
