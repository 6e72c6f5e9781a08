import { type ApprovalState, approvalStates, BridgeError, isSettled } from "../protocol/index.ts";
import { applyChange, dueLimit, newApprovalRow, renewedLease } from "./apply-change.ts";
import { nextAuditEntry } from "./audit-chain.ts";
import { refuseCallPast, UpperBound, UpperBounds } from "./refuse-past.ts";
import type { SqliteDatabase } from "./sqlite-database.ts";
import { approvalToParameters, insertApproval, rowToApproval, rowToAuditEntry, updateApproval } from "./sqlite-rows.ts";
import { openIndex, openStates } from "./sqlite-schema.ts";
import { noteChange, readSession, requireChat } from "./sqlite-sessions.ts";
import type { Approval, ApprovalStore, AuditEntry, OpenState } from "./store.ts";

/** For SQL: a list of the states of settled rows. */
export const settledStates = approvalStates
  .filter(isSettled)
  .map((state) => `'${state}'`)
  .join(", ");

/** Reads the index once, in its own order. It keeps the event loop, so it must not sort, or look at rows. */
export const countByState = `SELECT state, count(*) AS n FROM approval INDEXED BY ${openIndex} WHERE state IN (${openStates}) GROUP BY state`;

/** The fields of a filter that are columns. */
const comparedFields = [
  ...(["appName", "chat", "session", "owner", "state", "idempotencyKey", "messageId", "innerSession"] as const),
];

/** The tables `approval` and `audit`. */
export function sqliteApprovals(db: SqliteDatabase, { now }: { now: () => number }): ApprovalStore {
  const getApproval = (id: string) => rowToApproval(db.one("SELECT * FROM approval WHERE id = ?", id));
  const count = (where: string, ...values: string[]) =>
    Number(db.one(`SELECT count(*) AS n FROM approval ${where}`, ...values)?.["n"]);
  const waiting = new UpperBound(() => count(`INDEXED BY ${openIndex} WHERE state IN (${openStates})`));
  const waitingOfOwners = new UpperBounds((owner) =>
    count(`INDEXED BY ${openIndex} WHERE owner = ? AND state IN (${openStates})`, owner),
  );
  const saveApproval = (row: Approval, before: Approval) => {
    const saved = db.runNamed(updateApproval, {
      ...approvalToParameters(row, "moves"),
      id: before.id,
      oldState: before.state,
      oldFence: before.fence,
    });
    if (saved !== 1) throw new BridgeError("conflict", `Approval ${before.id} changed at the same time.`);
  };
  const addAudit = (approval: Approval, event: AuditEntry["event"], by: string | undefined, at: number) => {
    const previous = db.one("SELECT * FROM audit WHERE chat = ? ORDER BY sequence DESC LIMIT 1", approval.chat);
    const { chat, id: approvalId, state, digest } = approval;
    const entry = nextAuditEntry(rowToAuditEntry(previous), { at, approvalId, event, state, by, digest });
    db.run(
      "INSERT INTO audit (chat, sequence, at, approvalId, event, state, by, digest, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      ...[chat, entry.sequence, at, approvalId, event, state, by ?? null, digest, entry.hash],
    );
  };

  const mark = (id: string, field: "told" | "shown", as?: ApprovalState) =>
    // If a power cut takes the mark, the row is found in the log or in the history again.
    db.transaction("NORMAL", () => {
      const row = getApproval(id);
      if (!row || row[field] || !isSettled(row.state) || (as && row.state !== as)) return false;
      saveApproval({ ...row, [field]: true }, row);
      return true;
    });

  return {
    async countOpenCalls() {
      const counts = { pending: 0, approved: 0, executing: 0, waiting: 0 };
      for (const { state, n } of db.all(countByState)) counts[state as OpenState] = Number(n);
      return counts;
    },

    async createApproval(approval, limits = {}) {
      // What depends on the row is synced, and the row with it: a decision, a claim, a report, the end of the turn. A power
      // cut before that takes the question with the row. A response with many calls would wait for the disk at each.
      return db.transaction("NORMAL", () => {
        const { id, session, toolCallId } = approval;
        const existing = db.one("SELECT * FROM approval WHERE session = ? AND toolCallId = ?", session, toolCallId);
        if (existing) return rowToApproval(existing) as Approval;
        const { chat, owner } = readSession(db, session) ?? {};
        if (chat !== approval.chat || owner !== approval.owner) {
          throw new BridgeError("not_found", `There is no session ${session} in chat ${approval.chat}.`);
        }
        if (getApproval(id)) throw new BridgeError("conflict", `Approval ${id} belongs to another call.`);
        refuseCallPast(approval, limits, {
          pending: () => count("WHERE chat = ? AND state = 'pending'", chat),
          waiting: () => count(`WHERE chat = ? AND state IN (${openStates})`, chat),
          waitingOfOwner: (atMost) => waitingOfOwners.of(owner).value(atMost),
          waitingInAll: (atMost) => waiting.value(atMost),
        });
        const at = now();
        const row = newApprovalRow({ ...approval, appName: requireChat(db, chat).appName }, at);
        db.runNamed(insertApproval, approvalToParameters(row));
        waiting.added();
        waitingOfOwners.of(row.owner).added();
        addAudit(row, "create", row.requestedBy, at);
        noteChange(db, row.chat, at);
        return getApproval(id) as Approval;
      });
    },

    async getApproval(id) {
      return getApproval(id);
    },

    async listApprovals(filter) {
      const fields = comparedFields.filter((field) => filter[field] !== undefined);
      const values = fields.map((field) => filter[field] as string);
      const conditions = fields.map(
        (field) => `${field === "messageId" ? "coalesce(placedIn, messageId)" : field} = ?`,
      );
      if (filter.told !== undefined) conditions.push(`told = ${Number(filter.told)}`);
      if (filter.about) {
        const list = "(SELECT value FROM json_each(?))";
        // Each half has an index of its own.
        const found = ["id", "toolCallId"].map((column) => `SELECT created FROM approval WHERE ${column} IN ${list}`);
        conditions.push(`created IN (${found.join(" UNION ")})`);
        values.push(JSON.stringify(filter.about), JSON.stringify(filter.about));
      }
      const where = conditions.join(" AND ") || "TRUE";
      // Every pending row is in the index of due rows, which has few others. A scan would read every row there ever was.
      const others = fields.some((field) => field !== "state" && field !== "appName");
      const ofAllChats = filter.state === "pending" && !others && filter.told === undefined && !filter.about;
      const from = ofAllChats ? "approval INDEXED BY approval_due WHERE dueAt IS NOT NULL AND" : "approval WHERE";
      const newest = filter.newest ?? -1; // -1: no limit
      const rows = db.all(`SELECT * FROM ${from} ${where} ORDER BY created DESC LIMIT ?`, ...values, newest);
      return rows.toReversed().map((row) => rowToApproval(row) as Approval);
    },

    async move(id, change) {
      return db.sharedTransaction(() => {
        const row = getApproval(id);
        if (!row) return { moved: false, approval: undefined };
        const at = now();
        const applied = applyChange(row, change, at);
        if (!applied) return { moved: false, approval: row };
        saveApproval(applied.approval, row);
        addAudit(applied.approval, applied.event, applied.by, at);
        noteChange(db, row.chat, at);
        return { moved: applied.moved, applied: applied.event, approval: getApproval(id) };
      });
    },

    async renewLease(id, fence, leaseMs) {
      // A lease that a power cut takes is not missed: the next process ends all leases when it opens the database.
      return db.transaction("NORMAL", () => {
        const row = getApproval(id);
        const renewed = row && renewedLease(row, fence, leaseMs, now());
        if (renewed) saveApproval(renewed, row);
        return renewed !== undefined;
      });
    },

    async markTold(id, as) {
      return mark(id, "told", as);
    },

    async markShown(id) {
      return mark(id, "shown");
    },

    async dueApprovals({ appName, after, limit = dueLimit, unsettled = false } = {}) {
      const first = "iif(?3 IS NULL, 0, (SELECT created FROM approval WHERE id = ?3))";
      // The index alone says which rows are due; only those of the batch are read.
      const due = `SELECT created FROM approval INDEXED BY approval_due
        WHERE ${appName === undefined ? "" : "appName = ?4 AND "}dueAt <= ?1 AND created > ${first}${unsettled ? ` AND state NOT IN (${settledStates})` : ""}
        ORDER BY created LIMIT ?2`;
      const rows = db.all(
        `SELECT * FROM approval WHERE created IN (${due}) ORDER BY created`,
        ...[now(), limit, after ?? null, ...(appName === undefined ? [] : [appName])],
      );
      return rows.map((row) => rowToApproval(row) as Approval);
    },

    async audit(chat) {
      const rows = db.all("SELECT * FROM audit WHERE chat = ? ORDER BY sequence", chat);
      return rows.map((row) => rowToAuditEntry(row) as AuditEntry);
    },
  };
}
