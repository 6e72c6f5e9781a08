import type { DatabaseSync } from "node:sqlite";
import { approvalEvents, approvalStates, type ApprovalState, isSettled, transitions } from "../protocol/index.ts";
import { foldLogs } from "./fold-logs.ts";
import { migrations } from "./sqlite-migrations.ts";
import type { Approval } from "./store.ts";

/**
 * The columns of an approval, and the rules the database itself enforces. The triggers are derived from the code and
 * created again at every opening, so that a change of `transitions` reaches existing databases.
 */

/** Every field of a row is a column of the same name. Fixed columns never change after the insert. */
export const approvalColumns = {
  id: "fixed",
  appName: "fixed",
  chat: "fixed",
  session: "fixed",
  owner: "fixed",
  toolCallId: "fixed",
  toolName: "fixed",
  input: "fixed",
  rawInput: "fixed",
  digest: "fixed",
  messageId: "fixed",
  agent: "fixed",
  branch: "fixed",
  mode: "fixed",
  requestedBy: "fixed",
  toolHash: "fixed",
  card: "fixed",
  hint: "fixed",
  payload: "fixed",
  external: "fixed",
  effect: "fixed",
  gated: "fixed",
  startMs: "fixed",
  reportMs: "fixed",
  innerSession: "fixed",
  createdAt: "fixed",
  expiresAt: "fixed",
  idempotencyKey: "fixed",
  state: "moves",
  startBy: "moves",
  decidedAt: "moves",
  decidedBy: "moves",
  decisionKey: "moves",
  reason: "moves",
  fence: "moves",
  leaseOwner: "moves",
  leaseUntil: "moves",
  reportBy: "moves",
  interim: "moves",
  outcome: "moves",
  stateDelta: "moves",
  actions: "moves",
  resolvedBy: "moves",
  finishedAt: "moves",
  told: "moves",
  shown: "moves",
} as const satisfies Record<keyof Approval, "fixed" | "moves">;

/** From this version on, finished messages are stored whole. */
const foldedSince = 4;
/** The index of the calls that wait. */
export const openIndex = "approval_open_by_state";
/** Their states. SQLite uses the index only for a condition with the same text. */
export const openStates = approvalStates
  .filter((state) => !isSettled(state))
  .map(quote)
  .join(", ");

/** Throws when a later release has written this database: this release may misread its rows. */
export function refuseNewerSchema(db: DatabaseSync, path: string): void {
  const version = schemaVersion(db);
  if (version <= migrations.length) return;
  throw new Error(
    `The database ${path} has schema version ${version}; this release knows versions up to ${migrations.length}. ` +
      "Open it with the release that wrote it, or a later one.",
  );
}

/** Creates or upgrades the tables, and creates the triggers again. Call it inside a transaction. */
export function migrate(db: DatabaseSync): void {
  const old = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all();
  for (const { name } of old) db.exec(`DROP TRIGGER ${String(name)}`);
  const version = schemaVersion(db);
  for (const migration of migrations.slice(version)) db.exec(migration);
  if (version < foldedSince) foldLogs(db);
  db.exec(`PRAGMA user_version = ${migrations.length}`);
  // Few rows are in this index: calls are settled after a while. It is for counts: of each state, and of an owner, whose
  // calls are found once for each state. Earlier releases had the owner first, and sorted every row by its state.
  db.exec("DROP INDEX IF EXISTS approval_open");
  db.exec(`CREATE INDEX IF NOT EXISTS ${openIndex} ON approval (state, owner) WHERE state IN (${openStates})`);
  for (const [name, trigger] of Object.entries(triggers())) db.exec(`CREATE TRIGGER ${name} ${trigger}`);
}

function schemaVersion(db: DatabaseSync): number {
  return Number(db.prepare("PRAGMA user_version").get()?.["user_version"]);
}

/**
 * The store's own code never violates these. They guard against everything else that writes to the file: an old release,
 * a repair script, a shell.
 */
function triggers(): Record<string, string> {
  const columns = Object.entries(approvalColumns);
  const fixed = ["created", ...columns.filter(([, kind]) => kind === "fixed").map(([name]) => name)];
  const marks = new Set(["told", "shown"]);
  const settled = columns.filter(([name, kind]) => kind === "moves" && !marks.has(name)).map(([name]) => name);
  const legal = approvalStates.flatMap((from) => targets(from).map((to) => `(${quote(from)}, ${quote(to)})`));
  const terminal = approvalStates.filter((state) => targets(state).length === 0);

  return {
    approval_starts_once: refuse(
      "BEFORE INSERT ON approval",
      `NEW.state NOT IN ('pending', 'approved', 'waiting') OR NEW.fence <> 0 OR NEW.told <> 0 OR EXISTS (
         SELECT 1 FROM approval
         WHERE id = NEW.id OR session = NEW.session AND toolCallId = NEW.toolCallId)`,
      "an approval starts once, pending, approved or waiting",
    ),
    approval_is_fixed: refuse(
      "BEFORE UPDATE ON approval",
      changed(fixed),
      "who asked for what, and until when, never changes",
    ),
    approval_moves: refuse(
      "BEFORE UPDATE OF state ON approval",
      `OLD.state <> NEW.state AND (OLD.state, NEW.state) NOT IN (VALUES ${legal.join(", ")})`,
      "no such transition",
    ),
    approval_is_decided_once: refuse(
      "BEFORE UPDATE OF decidedAt, decidedBy, decisionKey ON approval",
      `OLD.state <> 'pending' AND (${changed(["decidedAt", "decidedBy", "decisionKey"])})`,
      "a decision never changes",
    ),
    approval_fence_rises: refuse(
      "BEFORE UPDATE OF fence, state ON approval",
      `NEW.fence NOT IN (OLD.fence, OLD.fence + 1)
       OR NEW.fence = OLD.fence AND NEW.state = 'executing' AND OLD.state <> 'executing'
       OR NEW.fence <> OLD.fence AND NEW.state <> 'executing'`,
      "each claim, and nothing else, raises the fence by one",
    ),
    approval_stays_settled: refuse(
      "BEFORE UPDATE ON approval",
      `OLD.state IN (${terminal.map(quote).join(", ")}) AND (${changed(settled)})`,
      "a settled approval never changes",
    ),
    approval_is_told_once: refuse(
      "BEFORE UPDATE OF told ON approval",
      "NEW.told < OLD.told AND NOT (OLD.state = 'indeterminate' AND NEW.state <> OLD.state)",
      "told stays told, unless a person resolves the call",
    ),
    approval_stays: refuse(
      "BEFORE DELETE ON approval",
      "EXISTS (SELECT 1 FROM session WHERE id = OLD.session AND deleted = 0)",
      "an approval stays as long as its session",
    ),
    audit_is_added_to: refuse(
      "BEFORE INSERT ON audit",
      "EXISTS (SELECT 1 FROM audit WHERE chat = NEW.chat AND sequence = NEW.sequence)",
      "an audit entry never changes",
    ),
    audit_never_changes: refuse("BEFORE UPDATE ON audit", "TRUE", "an audit entry never changes"),
    audit_stays: refuse(
      "BEFORE DELETE ON audit",
      "EXISTS (SELECT 1 FROM session WHERE id = OLD.chat AND deleted = 0)",
      "an audit stays as long as its chat",
    ),
    audit_hash_is_added_to: refuse(
      "BEFORE INSERT ON auditHash",
      "EXISTS (SELECT 1 FROM auditHash WHERE chat = NEW.chat AND sequence = NEW.sequence)",
      "the hash of an audit entry never changes",
    ),
    audit_hash_never_changes: refuse("BEFORE UPDATE ON auditHash", "TRUE", "the hash of an audit entry never changes"),
    audit_hash_stays: refuse("BEFORE DELETE ON auditHash", "TRUE", "the hash of an audit entry stays"),
  };
}

function refuse(when: string, condition: string, because: string): string {
  return `${when} WHEN ${condition} BEGIN SELECT RAISE(ABORT, ${quote(`refused: ${because}`)}); END`;
}

/** The other states that an event can lead to. (A reclaim stays in its state; the trigger sees it by its fence.) */
function targets(from: ApprovalState): ApprovalState[] {
  const cells = approvalEvents.map((event) => transitions[from][event]);
  return [...new Set(cells.flatMap((cell) => ("to" in cell && cell.to !== from ? [cell.to] : [])))];
}

function changed(columns: readonly string[]): string {
  return columns.map((column) => `OLD.${column} IS NOT NEW.${column}`).join(" OR ");
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
