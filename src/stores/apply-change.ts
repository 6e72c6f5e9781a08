import { BridgeError, transition } from "../protocol/index.ts";
import type { Approval, Change, NewApproval } from "./store.ts";

/**
 * What a change does to an approval, as pure functions of the row, the change and the clock. Every store calls these and
 * only stores the result, so that two stores cannot disagree about a deadline, a lease or a fence.
 *
 * A row past its deadline expires with the first change that finds it, whatever that change is. At `expiresAt`, `startBy`
 * and `leaseUntil` themselves it is already too late.
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
export function newApprovalRow(approval: NewApproval, now: number): Approval {
  const { ttlMs, hint, ...call } = approval;
  for (const [field, value] of Object.entries(call)) if (typeof value === "string") exactText(value, field);
  return withoutUndefined({
    ...call,
    hint: wellFormed(hint),
    startMs: later(0, call.startMs),
    createdAt: now,
    expiresAt: later(now, ttlMs),
    startBy: call.state === "approved" ? later(now, call.startMs) : undefined,
    idempotencyKey: call.idempotencyKey ?? call.id,
    fence: 0,
    told: false,
  });
}

/** Throws when a chat that has `pending` waiting calls may not have another one. */
export function refusePast(maxPending: number, pending: number): void {
  if (pending < maxPending) return;
  throw new BridgeError("too_many", `At most ${maxPending} calls of a chat may wait for approval at once.`);
}

/** The row after `change`; undefined when the change is refused, and then nothing may be written. */
export function applyChange(row: Approval, change: Change, now: number): Applied | undefined {
  if (deadlinePassed(row, now)) return expired(row, now, change.event === "expire");
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
      return move({ finishedAt: now, reason: wellFormed(change.reason) ?? row.reason });
    case "claim":
    case "reclaim": {
      if (change.event === "reclaim" && !leaseLapsed(row, now)) return undefined;
      const leaseOwner = wellFormed(change.leaseOwner);
      return move({ fence: row.fence + 1, leaseOwner, leaseUntil: later(now, change.leaseMs) }, leaseOwner);
    }
    case "succeed":
    case "fail": {
      // Only the attempt that holds the row may finish it. No attempt holds an indeterminate row, so it needs no fence.
      const holds = change.fence === undefined ? row.state === "indeterminate" : change.fence === row.fence;
      if (!holds) return undefined;
      return move({ ...released, outcome: change.outcome, stateDelta: change.stateDelta, finishedAt: now });
    }
    case "lose":
      return leaseLapsed(row, now) ? move({ ...released, finishedAt: now }) : undefined;
    default:
      return change satisfies never;
  }
}

/** The row with a longer lease; undefined when the attempt that holds `fence` is not the one that runs. */
export function renewedLease(row: Approval, fence: number, leaseMs: number, now: number): Approval | undefined {
  if (row.state !== "executing" || row.fence !== fence) return undefined;
  return { ...row, leaseUntil: later(now, leaseMs) };
}

/**
 * The time from which on this row needs work; undefined when it needs none. Zero means at once: an approved server tool
 * must be claimed, and the model must be told about a settled row.
 */
export function dueAt(row: Approval): number | undefined {
  switch (row.state) {
    case "pending":
      return row.expiresAt;
    case "approved":
      return row.external ? row.startBy : 0;
    case "executing":
      return row.leaseUntil;
    default:
      return row.told ? undefined : 0;
  }
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

function expired(row: Approval, now: number, moved: boolean): Applied {
  return { approval: { ...row, state: "expired", finishedAt: now }, event: "expire", moved };
}

/** Only a row that waits has a deadline: for its decision, and then for its start. */
function deadlinePassed(row: Approval, now: number): boolean {
  if (row.state === "pending") return now >= row.expiresAt;
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
