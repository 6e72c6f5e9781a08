import { BridgeError, isSettled, transition } from "../protocol/index.ts";
import type { Approval, Change, DueBatch, NewApproval } from "./store.ts";

/**
 * What a change does to an approval, as pure functions of the row, the change and the clock. Every store calls these and
 * only stores the result, so that two stores cannot disagree about a deadline, a lease or a fence.
 *
 * A row past its deadline expires with the first change that finds it, whatever that change is; one that has begun becomes
 * indeterminate instead. At `expiresAt`, `startBy`, `reportBy` and `leaseUntil` themselves it is already too late.
 */

/** What to write: the new row, and the event for the audit. */
interface Applied {
  approval: Approval;
  event: Change["event"];
  by?: string;
  /** False when the caller's change came too late and the row expired instead. */
  moved: boolean;
}

/** The first version of a row. Unless it brings a key of its own, its id is the idempotency key: random and unique. */
export function newApprovalRow(approval: NewApproval & { appName: string }, now: number): Approval {
  const { ttlMs, hint, ...call } = approval;
  for (const [field, value] of Object.entries(call)) if (typeof value === "string") exactText(value, field);
  return withoutUndefined({
    ...call,
    hint: wellFormed(hint),
    startMs: later(0, call.startMs),
    reportMs: call.reportMs === undefined ? undefined : later(0, call.reportMs),
    createdAt: now,
    expiresAt: later(now, ttlMs),
    startBy: call.state === "approved" ? later(now, call.startMs) : undefined,
    reportBy: call.state === "waiting" ? reportTime(call, now) : undefined,
    idempotencyKey: call.idempotencyKey ?? call.id,
    fence: 0,
    told: false,
  });
}

/** The row after `change`; undefined when the change is refused, and then nothing may be written. */
export function applyChange(row: Approval, change: Change, now: number): Applied | undefined {
  if (deadlinePassed(row, now)) return overdue(row, now, change.event);
  const cell = transition(row.state, change.event);
  if (!("to" in cell)) return undefined;
  const move = (fields: Partial<Approval>, by?: string): Applied => ({
    approval: withoutUndefined({ ...row, ...fields, state: cell.to }),
    event: change.event,
    ...(by !== undefined && { by }),
    moved: true,
  });

  switch (change.event) {
    case "approve":
    case "deny": {
      const by = wellFormed(change.by);
      const decision = {
        decidedAt: now,
        decidedBy: by,
        decisionKey: wellFormed(change.key),
        reason: wellFormed(change.reason),
      };
      return move(
        change.event === "approve"
          ? { ...decision, startBy: later(now, row.startMs) }
          : { ...decision, finishedAt: now },
        by,
      );
    }
    case "expire":
      return undefined; // its time has not passed
    case "cancel":
      if (change.unlessApproved && row.state === "approved") return undefined;
      return move({ finishedAt: now, reason: wellFormed(change.reason) ?? row.reason });
    case "claim":
    case "reclaim": {
      if (change.event === "reclaim" && !leaseLapsed(row, now)) return undefined;
      const leaseOwner = wellFormed(change.leaseOwner);
      return move({ fence: row.fence + 1, leaseOwner, leaseUntil: later(now, change.leaseMs) }, leaseOwner);
    }
    case "begin": {
      if (row.reportMs === undefined) return undefined;
      const { interim, stateDelta, actions } = change;
      const holds = row.state === "approved" ? change.fence === undefined : change.fence === row.fence;
      return holds ? move({ ...released, reportBy: reportTime(row, now), interim, stateDelta, actions }) : undefined;
    }
    case "succeed":
    case "fail": {
      if (!mayFinish(row, change, now)) return undefined;
      const { outcome, stateDelta = row.stateDelta, actions = row.actions } = change;
      const by = wellFormed(change.by);
      // A person has found out what happened. The model was told that the outcome is not known, so it has to be told again.
      const resolution =
        row.state === "indeterminate"
          ? { resolvedBy: by, reason: wellFormed(change.reason) ?? row.reason, told: false, shown: undefined }
          : {};
      return move({ ...released, outcome, stateDelta, actions, finishedAt: now, ...resolution }, by);
    }
    case "lose": {
      // The time of a waiting row is checked above.
      if (row.state !== "executing" || !(change.fence === row.fence || leaseLapsed(row, now))) return undefined;
      // The call may have begun before its process died, so that someone may still report on it.
      const reportBy = row.reportMs === undefined ? undefined : reportTime(row, now);
      return move({ ...released, outcome: change.outcome, reportBy, finishedAt: now });
    }
    default:
      return change satisfies never;
  }
}

/** The row with a longer lease; undefined when the attempt that holds `fence` is not the one that runs. */
export function renewedLease(row: Approval, fence: number, leaseMs: number, now: number): Approval | undefined {
  if (row.state !== "executing" || row.fence !== fence) return undefined;
  return { ...row, leaseUntil: later(now, leaseMs) };
}

/** How many due rows a store returns at once, unless it is asked for another number. */
export const dueLimit = 200;

/**
 * The time from which on this row needs work; undefined when it needs none. Zero means at once: an approved server tool
 * must be claimed, and a settled row must be shown. The model is told in the turn that shows it, or with the next message.
 */
export function dueAt(row: Approval): number | undefined {
  switch (row.state) {
    case "pending":
      return row.expiresAt;
    case "approved":
      // An agent that runs as a tool is not started here; its turn runs it.
      return row.innerSession === undefined ? 0 : row.startBy;
    case "executing":
      return row.leaseUntil;
    case "waiting":
      return row.reportBy;
    default:
      // A row in a state of a later release is that release's work.
      return row.told || row.shown || !isSettled(row.state) ? undefined : 0;
  }
}

/** The due ones of all rows, which come oldest first. */
export function dueBatch(
  rows: Iterable<Approval>,
  { appName, after, limit = dueLimit, unsettled = false }: DueBatch,
  now: number,
): Approval[] {
  const due: Approval[] = [];
  let isAfter = after === undefined;
  for (const row of rows) {
    if (due.length >= limit) break;
    const isDue = (dueAt(row) ?? Infinity) <= now && !(unsettled && isSettled(row.state));
    if (isAfter && isDue && (appName === undefined || row.appName === appName)) due.push(row);
    isAfter ||= row.id === after;
  }
  return due;
}

/**
 * Ids and names must come back from a database unchanged. A lone surrogate would become U+FFFD there, so that two names
 * could become one, and a NUL ends the text for some readers.
 */
export function exactText(text: string, field: string): string {
  if (text.includes("\0") || loneSurrogate.test(text)) {
    throw new BridgeError("invalid", `${field} must be well-formed text without NUL characters.`);
  }
  return text;
}

/** Leaves out undefined fields, as JSON does, so that a row looks the same before and after it was stored. */
function withoutUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}

const released = { leaseOwner: undefined, leaseUntil: undefined };
const loneSurrogate = /\p{Surrogate}/u;

/**
 * Who may record an outcome: the attempt that holds the row, by its fence; anyone who reports on a row that waits, which no
 * attempt holds; a person, by name, for a row whose outcome is not known. A long-running tool may be reported on before it
 * has returned, and after its process died. An attempt that was given up may still say what became of it.
 */
function mayFinish(row: Approval, { fence, by }: { fence?: number; by?: string }, now: number): boolean {
  if (fence !== undefined) return fence === row.fence && row.state !== "waiting";
  if (row.state === "indeterminate") return by !== undefined || (row.reportBy !== undefined && now < row.reportBy);
  return row.state === "waiting" || (row.state === "executing" && row.reportMs !== undefined);
}

function reportTime({ reportMs = 0 }: { reportMs?: number }, now: number): number {
  return later(now, reportMs);
}

/** The row past its deadline. One that has begun may have had an effect. */
function overdue(row: Approval, now: number, asked: Change["event"]): Applied {
  const hasBegun = row.state === "waiting";
  const event = hasBegun ? "lose" : "expire";
  const approval: Approval = { ...row, state: hasBegun ? "indeterminate" : "expired", finishedAt: now };
  return { approval, event, moved: asked === event };
}

/** Only a row that waits has a deadline: for its decision, then for its start, then for a report. */
function deadlinePassed(row: Approval, now: number): boolean {
  if (row.state === "pending") return now >= row.expiresAt;
  if (row.state === "waiting") return row.reportBy === undefined || now >= row.reportBy;
  return row.state === "approved" && (row.startBy === undefined || now >= row.startBy);
}

function leaseLapsed(row: Approval, now: number): boolean {
  return row.leaseUntil === undefined || now >= row.leaseUntil;
}

/** Refuses NaN, which would make a deadline that never passes. `Infinity` becomes the last safe integer. */
function later(now: number, ms: number): number {
  if (!(ms >= 0)) throw new BridgeError("invalid", `A duration must be zero or more milliseconds; got ${ms}.`);
  return Math.min(Math.floor(now + ms), Number.MAX_SAFE_INTEGER);
}

/** For free text, which is shown and never compared: broken characters are replaced. */
function wellFormed<T extends string | undefined>(text: T): T {
  return text?.replace(/\p{Surrogate}|\0/gu, "\ufffd") as T;
}
