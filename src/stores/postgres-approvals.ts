import { type ApprovalState, approvalStates, BridgeError, isSettled } from "../protocol/index.ts";
import { applyChange, dueLimit, newApprovalRow, renewedLease } from "./apply-change.ts";
import { toJsonCopy } from "./json-copy.ts";
import { sharedCount } from "./postgres-counts.ts";
import { type PostgresDatabase, sqlNow } from "./postgres-database.ts";
import { postgresLedger } from "./postgres-ledger.ts";
import type { PostgresLeases } from "./postgres-leases.ts";
import { columnOf, rowToApproval, rowToAuditEntry, type Value } from "./postgres-rows.ts";
import { refuseCallPast } from "./refuse-past.ts";
import type { Approval, ApprovalStore, Moved, OpenState } from "./store.ts";

const list = (states: readonly string[]) => states.map((state) => `'${state}'`).join(", ");
/** For SQL: lists of the states of settled rows, and of the others. */
export const settledStates = list(approvalStates.filter(isSettled));
const openStates = list(approvalStates.filter((state) => !isSettled(state)));

/** SQL: true for a chat that no other node has. `$n` is this node, `$n+1` the time. */
export function sqlNotElsewhere(chat: string, parameter: number): string {
  return `EXISTS (SELECT 1 FROM session WHERE session.id = ${chat} AND NOT session.deleted
    AND (session.lease_node IS NULL OR session.lease_node = $${parameter} OR session.lease_until <= ${sqlNow(parameter + 1)}))`;
}

/**
 * The approvals that are due. The time is a subquery: the clock itself may change within a statement, so PostgreSQL would
 * compare it with every open approval instead of looking in the index.
 */
export function dueQuery({ unsettled, isLater }: { unsettled: boolean; isLater: boolean }): string {
  return `SELECT * FROM approval
    WHERE due_at <= (SELECT ${sqlNow(2)}) ${unsettled ? `AND state NOT IN (${settledStates})` : ""}
      AND ${sqlNotElsewhere("approval.chat", 1)}
      AND ($4::text IS NULL OR app_name = $4)
      ${isLater ? "AND created > (SELECT created FROM approval WHERE id = $5)" : ""}
    ORDER BY created LIMIT $3::bigint`;
}

interface PostgresApprovals extends ApprovalStore {
  /** Ends the leases of the calls that were claimed through this store, because its process ends. */
  endClaims(): Promise<void>;
}

/** The tables `approval` and `audit`. */
export function postgresApprovals(db: PostgresDatabase, leases: PostgresLeases): PostgresApprovals {
  const ledger = postgresLedger(db, leases);
  const waiting = sharedCount(async () => {
    const [row] = await db.query(`SELECT count(*) AS n FROM approval WHERE state IN (${openStates})`);
    return Number(row?.["n"]);
  });
  /** The fences of calls that this process has claimed and that have not ended. */
  const claims = new Map<string, number>();
  const getApproval = async (id: string): Promise<Approval | undefined> => {
    const [row] = await db.query("SELECT * FROM approval WHERE id = $1", [id]);
    return row && rowToApproval(row);
  };

  const mark = (id: string, field: "told" | "shown", as?: ApprovalState) =>
    ledger.change<boolean>({
      ...{ id, isFenced: true },
      compute({ row }) {
        if (!row || row[field] || !isSettled(row.state) || (as && row.state !== as)) return { result: false };
        return { result: true, row: { ...row, [field]: true } };
      },
    });

  return {
    async countOpenCalls() {
      const counts = { pending: 0, approved: 0, executing: 0, waiting: 0 };
      const sql = `SELECT state, count(*) AS n FROM approval WHERE state IN (${openStates}) GROUP BY state`;
      for (const { state, n } of await db.query(sql)) counts[state as OpenState] = Number(n);
      return counts;
    },

    async createApproval(approval, limits = {}) {
      const inAll = await waiting.value(limits.maxWaitingInAll);
      const { id } = approval;
      const { row, isNew } = await ledger.change<{ row: Approval; isNew: boolean }>({
        ...{ id, isFenced: true, create: { approval, limits } },
        compute({ at, row: taken, existing, session, counts }) {
          if (existing) return { result: { row: existing, isNew: false } };
          if (session?.chat !== approval.chat || session.owner !== approval.owner)
            throw new BridgeError("not_found", `There is no session ${approval.session} in chat ${approval.chat}.`);
          if (taken) throw new BridgeError("conflict", `Approval ${id} belongs to another call.`);
          refuseCallPast(approval, limits, {
            pending: () => counts.maxPending,
            waiting: () => counts.maxWaiting,
            waitingOfOwner: () => counts.maxWaitingOfOwner,
            waitingInAll: () => inAll,
          });
          const added = toJsonCopy(newApprovalRow({ ...approval, appName: session.appName }, at));
          return { result: { row: added, isNew: true }, row: added, audit: { event: "create", by: added.requestedBy } };
        },
      });
      if (isNew) waiting.added();
      return row;
    },

    getApproval,

    async listApprovals(filter) {
      const values: Value[] = [];
      const parameter = (value: Value) => `$${values.push(value)}`;
      const known = [
        "appName",
        "chat",
        "session",
        "owner",
        "state",
        "idempotencyKey",
        "messageId",
        "innerSession",
      ] as const;
      const conditions = known.flatMap((field) => {
        const value = filter[field];
        if (value === undefined) return [];
        const column = field === "messageId" ? "coalesce(placed_in, message_id)" : columnOf(field);
        return [`${column} = ${parameter(value)}`];
      });
      // Every pending row is in the index of due rows.
      if (filter.state === "pending") conditions.push("due_at IS NOT NULL");
      if (filter.told !== undefined) conditions.push(filter.told ? "told" : "NOT told");
      if (filter.about) {
        const about = parameter(filter.about);
        conditions.push(`(id = ANY(${about}::text[]) OR tool_call_id = ANY(${about}::text[]))`);
      }
      const rows = await db.query(
        `SELECT * FROM approval WHERE ${conditions.join(" AND ") || "TRUE"}
         ORDER BY created DESC LIMIT ${parameter(filter.newest ?? null)}::bigint`,
        values,
      );
      return rows.toReversed().map(rowToApproval);
    },

    async move(id, change) {
      const moved = await ledger.change<Moved>({
        ...{ id, isFenced: false },
        compute({ row, at }) {
          if (!row) return { result: { moved: false, approval: undefined } };
          const applied = applyChange(row, change, at);
          if (!applied) return { result: { moved: false, approval: row } };
          const { event, by } = applied;
          const approval = toJsonCopy(applied.approval);
          const result = { moved: applied.moved, applied: event, approval };
          return { result, row: approval, audit: { event, ...(by !== undefined && { by }) } };
        },
      });
      if (moved.approval?.state !== "executing") claims.delete(id);
      else if (moved.moved) claims.set(id, moved.approval.fence);
      // Changes of one batch may see the same row.
      return { ...moved, approval: moved.approval && toJsonCopy(moved.approval) };
    },

    async renewLease(id, fence, leaseMs) {
      return ledger.change<boolean>({
        ...{ id, isFenced: false },
        compute({ row, at }) {
          const renewed = row && renewedLease(row, fence, leaseMs, at);
          return renewed ? { result: true, row: renewed } : { result: false };
        },
      });
    },

    async markTold(id, as) {
      return mark(id, "told", as);
    },

    async markShown(id) {
      return mark(id, "shown");
    },

    async dueApprovals({ after, limit = dueLimit, unsettled = false, appName } = {}) {
      const rows = await db.query(dueQuery({ unsettled, isLater: after !== undefined }), [
        leases.node,
        db.time(),
        limit,
        appName ?? null,
        ...(after === undefined ? [] : [after]),
      ]);
      return rows.map(rowToApproval);
    },

    async audit(chat) {
      const rows = await db.query("SELECT * FROM audit WHERE chat = $1 ORDER BY sequence", [chat]);
      return rows.map(rowToAuditEntry);
    },

    async endClaims() {
      if (claims.size === 0) return;
      await db.query(
        `UPDATE approval SET lease_until = clock.now, due_at = clock.now, version = version + 1
         FROM unnest($1::text[], $2::bigint[]) AS mine (id, fence), (SELECT ${sqlNow(3)} AS now) AS clock
         WHERE approval.id = mine.id AND approval.fence = mine.fence AND state = 'executing' AND lease_until > clock.now`,
        [[...claims.keys()], [...claims.values()], db.time()],
      );
    },
  };
}
