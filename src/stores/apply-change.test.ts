import { describe, expect, test } from "vitest";
import { approvalEvents, type ApprovalState, approvalStates, BridgeError, transition } from "../protocol/index.ts";
import { applyChange, dueAt, exactText, newApprovalRow, renewedLease } from "./apply-change.ts";
import type { Approval, Change, NewApproval } from "./store.ts";

const created = 1_000;
const ttlMs = 60;
const startMs = 30;
const leaseMs = 10;
const reportMs = 90;
const expiresAt = created + ttlMs;

const asked: NewApproval & { appName: string } = {
  id: "id",
  appName: "app",
  chat: "chat",
  session: "chat",
  owner: "alice",
  toolCallId: "call",
  toolName: "pay",
  input: "{}",
  digest: "digest",
  messageId: "message",
  agent: "root",
  mode: "request",
  external: false,
  effect: "opaque",
  gated: true,
  state: "pending",
  ttlMs,
  startMs,
  reportMs,
};

/** A change that `transition` knows as `event`, by the attempt that holds the row where that matters. */
function changeOf(event: Change["event"], state?: ApprovalState): Change {
  switch (event) {
    case "approve":
    case "deny":
      return { event, by: "alice" };
    case "claim":
    case "reclaim":
      return { event, leaseOwner: "worker", leaseMs };
    case "succeed":
    case "fail":
      if (state === "indeterminate") return { event, outcome: { event }, by: "alice" };
      return { event, outcome: { event }, ...(state !== "waiting" && { fence: 1 }) };
    case "begin":
      return { event, ...(state === "executing" && { fence: 1 }) };
    default:
      return { event };
  }
}

const waysTo: Record<ApprovalState, Change["event"][]> = {
  pending: [],
  approved: ["approve"],
  executing: ["approve", "claim"],
  waiting: ["approve", "claim", "begin"],
  succeeded: ["approve", "claim", "succeed"],
  failed: ["approve", "claim", "fail"],
  denied: ["deny"],
  expired: ["expire"],
  cancelled: ["cancel"],
  indeterminate: ["approve", "claim", "lose"],
};

/** A row in `state`. It got there at its creation, or at its deadline where a deadline leads to the state. */
function rowIn(state: ApprovalState): Approval {
  let row = newApprovalRow(asked, created);
  for (const event of waysTo[state]) {
    const at = { expire: expiresAt, lose: created + leaseMs }[event as string] ?? created;
    const applied = applyChange(row, changeOf(event, row.state), at);
    if (!applied?.moved) throw new Error(`${event} does not move a ${row.state} row.`);
    row = applied.approval;
  }
  return row;
}

/** From when on a row in `state` is too late for everything else; undefined for states without a deadline. */
const deadlines: Partial<Record<ApprovalState, number>> = {
  pending: expiresAt,
  approved: created + startMs,
  waiting: created + reportMs,
};

/** What happens to a row at its deadline. */
const atDeadline = (state: ApprovalState) =>
  state === "waiting"
    ? ({ event: "lose", state: "indeterminate" } as const)
    : ({ event: "expire", state: "expired" } as const);

describe("applyChange", () => {
  const cells = approvalStates.flatMap((state) => approvalEvents.map((event) => ({ state, event })));

  test.each(cells)("$state × $event in time follows the table", ({ state, event }) => {
    const row = rowIn(state);
    // Late enough for a lease to have lapsed, in time for every deadline.
    const now = created + leaseMs;
    const cell = transition(state, event);
    const applied = applyChange(row, changeOf(event, state), now);
    const isEarly = event === "expire" || (event === "lose" && state === "waiting");
    if (!("to" in cell) || isEarly) expect(applied).toBeUndefined();
    else expect(applied).toMatchObject({ moved: true, event, approval: { state: cell.to } });
  });

  test.each(cells)("X32: $state × $event after the deadline ends the row, where it has one", ({ state, event }) => {
    const row = rowIn(state);
    const deadline = deadlines[state];
    const applied = applyChange(row, changeOf(event, state), deadline ?? created + 1_000 * ttlMs);
    if (deadline !== undefined) {
      const end = atDeadline(state);
      expect(applied).toEqual({
        approval: { ...row, state: end.state, finishedAt: deadline },
        event: end.event,
        moved: event === end.event,
      });
    } else {
      expect(applied?.approval.state).not.toBe("expired");
      if (applied) expect(applied).toMatchObject({ moved: true, event });
    }
  });

  test("a deadline begins at its own millisecond", () => {
    for (const [state, deadline] of Object.entries(deadlines) as [ApprovalState, number][]) {
      const row = rowIn(state);
      const end = atDeadline(state);
      expect(applyChange(row, { event: end.event }, deadline - 1)).toBeUndefined();
      const early = applyChange(row, { event: "cancel" }, deadline - 1);
      expect(early?.approval.state).toBe(state === "waiting" ? undefined : "cancelled");
      expect(applyChange(row, { event: "cancel" }, deadline)?.approval.state).toBe(end.state);
    }
  });

  test("a row that may start without a decision has its time to start from its creation on, and no other", () => {
    const row = newApprovalRow({ ...asked, state: "approved", external: true, gated: false, startMs: 500 }, created);
    expect(applyChange(row, { event: "cancel" }, expiresAt)?.approval.state).toBe("cancelled");
    expect(applyChange(row, { event: "cancel" }, created + 500)?.approval.state).toBe("expired");
  });

  test("a decision writes who, when and why, and a yes also until when the call may start", () => {
    const change = { by: "bob\ud800", reason: "why\0", key: "key" };
    const decision = { decidedAt: 1_005, decidedBy: "bob\ufffd", reason: "why\ufffd", decisionKey: "key" };
    const row = rowIn("pending");
    expect(applyChange(row, { event: "approve", ...change }, 1_005)).toEqual({
      approval: { ...row, ...decision, state: "approved", startBy: 1_005 + startMs },
      event: "approve",
      by: "bob\ufffd",
      moved: true,
    });
    expect(applyChange(row, { event: "deny", ...change }, 1_005)?.approval).toEqual({
      ...{ ...row, ...decision, state: "denied", finishedAt: 1_005 },
    });
  });

  test("a claim raises the fence and takes a lease; an outcome gives the lease back", () => {
    const claimed = applyChange(rowIn("approved"), changeOf("claim"), 1_005);
    expect(claimed).toMatchObject({
      by: "worker",
      approval: { fence: 1, leaseOwner: "worker", leaseUntil: 1_005 + leaseMs },
    });
    const done = applyChange(rowIn("executing"), changeOf("succeed"), 1_006);
    expect(done?.approval).toMatchObject({ outcome: { event: "succeed" }, finishedAt: 1_006, fence: 1 });
    expect(done?.approval).not.toHaveProperty("leaseOwner");
    expect(done?.approval).not.toHaveProperty("leaseUntil");
  });

  test.each(["reclaim", "lose"] as const)("%s needs a lapsed lease", (event) => {
    const row = rowIn("executing");
    expect(applyChange(row, changeOf(event), created + leaseMs - 1)).toBeUndefined();
    expect(applyChange(row, changeOf(event), created + leaseMs)?.moved).toBe(true);
  });

  test.each([
    ["executing", 1, true],
    ["executing", 0, false],
    ["executing", 2, false],
    ["executing", undefined, true],
    ["waiting", undefined, true],
    ["waiting", 1, false],
    ["indeterminate", undefined, true],
    ["indeterminate", 1, true],
    ["indeterminate", 2, false],
  ] as const)("%s takes an outcome with fence %s: %s", (state, fence, taken) => {
    for (const event of ["succeed", "fail"] as const)
      expect(applyChange(rowIn(state), { event, outcome: {}, fence }, created)?.moved ?? false).toBe(taken);
  });

  test("a call whose process died takes a report until its time is over; one that was not reported in time takes none", () => {
    const report = { event: "succeed", outcome: {} } as const;
    const crashed = rowIn("indeterminate");
    expect(crashed.reportBy).toBe(created + leaseMs + reportMs);
    expect(applyChange(crashed, report, created + leaseMs + reportMs - 1)?.approval.state).toBe("succeeded");
    expect(applyChange(crashed, report, created + leaseMs + reportMs)).toBeUndefined();
    const overdue = applyChange(rowIn("waiting"), { event: "lose" }, created + reportMs)?.approval;
    expect(overdue?.state).toBe("indeterminate");
    expect(overdue && applyChange(overdue, report, created + reportMs)).toBeUndefined();
    const other = { ...crashed, reportMs: undefined, reportBy: undefined };
    expect(applyChange(other, report, created + leaseMs)).toBeUndefined();
  });

  test("only a call whose result is reported can begin, and only such a call takes a report while it runs", () => {
    const row = { ...rowIn("executing"), reportMs: undefined };
    expect(applyChange(row, { event: "begin", fence: 1 }, created)).toBeUndefined();
    expect(applyChange(row, { event: "succeed", outcome: {} }, created)).toBeUndefined();
  });

  test("a call begins with its interim status and its time for a report, and gives its lease back", () => {
    const begun = applyChange(rowIn("executing"), { event: "begin", fence: 1, interim: { job: 7 } }, 1_005)?.approval;
    expect(begun).toMatchObject({ state: "waiting", interim: { job: 7 }, reportBy: 1_005 + reportMs, fence: 1 });
    expect(begun).not.toHaveProperty("leaseOwner");
    expect(applyChange(rowIn("executing"), { event: "begin", fence: 2 }, 1_005)).toBeUndefined();
    expect(applyChange(rowIn("executing"), { event: "begin" }, 1_005)).toBeUndefined();
    expect(applyChange(rowIn("approved"), { event: "begin", fence: 0 }, 1_005)).toBeUndefined();
    const outside = newApprovalRow({ ...asked, state: "waiting", interim: { job: 7 } }, created);
    expect(outside).toMatchObject({ reportBy: created + reportMs, interim: { job: 7 } });
  });

  test("a person who resolves a call is named, and the model has to be told again", () => {
    const row = { ...rowIn("indeterminate"), told: true };
    const change = { event: "succeed", outcome: { sent: true }, by: "bob", reason: "seen" } as const;
    expect(applyChange(row, change, 1_500)).toMatchObject({
      by: "bob",
      approval: { state: "succeeded", outcome: { sent: true }, resolvedBy: "bob", reason: "seen", told: false },
    });
  });

  test("leaves the row it was given alone", () => {
    const row = Object.freeze(rowIn("pending"));
    expect(applyChange(row, changeOf("approve"), created)?.approval).not.toBe(row);
    expect(applyChange(row, changeOf("approve"), expiresAt)?.approval).not.toBe(row);
  });
});

describe("newApprovalRow", () => {
  test("starts at fence 0, untold, with its deadline, and leaves out what is undefined", () => {
    const { ttlMs: _ttlMs, ...fields } = asked;
    expect(newApprovalRow({ ...asked, branch: undefined, hint: "a\ud800" }, created)).toStrictEqual({
      ...{ ...fields, hint: "a\ufffd", createdAt: created, expiresAt, idempotencyKey: "id", fence: 0, told: false },
    });
  });

  test("refuses ids a database could not give back, and spans that are no time", () => {
    const refused = (fields: Partial<NewApproval>) => () => newApprovalRow({ ...asked, ...fields }, created);
    for (const fields of [{ toolCallId: "a\udc00" }, { id: "a\0" }, { ttlMs: Number.NaN }, { startMs: -1 }])
      expect(refused(fields)).toThrow(BridgeError);
  });

  test("a span without end is the last safe moment", () => {
    expect(newApprovalRow({ ...asked, ttlMs: Infinity }, created).expiresAt).toBe(Number.MAX_SAFE_INTEGER);
  });
});

test("renewedLease extends the lease of the attempt that runs, and of no other", () => {
  const row = rowIn("executing");
  expect(renewedLease(row, 1, 50, created + 1)).toEqual({ ...row, leaseUntil: created + 51 });
  expect(renewedLease(row, 0, 50, created)).toBeUndefined();
  expect(renewedLease(rowIn("indeterminate"), 1, 50, created)).toBeUndefined();
});

describe("dueAt", () => {
  test.each([
    ["pending", expiresAt],
    ["approved", 0],
    ["executing", created + leaseMs],
    ["waiting", created + reportMs],
    ["succeeded", 0],
    ["failed", 0],
    ["denied", 0],
    ["expired", 0],
    ["cancelled", 0],
    ["indeterminate", 0],
  ] as const)("%s is due at %d", (state, due) => {
    expect(dueAt(rowIn(state))).toBe(due);
  });

  test("an agent that runs as a tool is due when its time to start is over", () => {
    expect(dueAt({ ...rowIn("approved"), external: true, innerSession: "inner" })).toBe(created + startMs);
  });

  test("a settled row that was told is never due", () => {
    expect(dueAt({ ...rowIn("denied"), told: true })).toBeUndefined();
  });
});

test("exactText names the field it refuses", () => {
  expect(exactText("花子", "owner")).toBe("花子");
  for (const text of ["a\0", "\ud800", "\udc00\ud800"]) expect(() => exactText(text, "owner")).toThrow(/^owner must/);
});

test("a row in a state of a later release is not due, and no change moves it", () => {
  const later = { ...rowIn("pending"), state: "paused" as ApprovalState };
  expect(dueAt(later)).toBeUndefined();
  for (const event of approvalEvents) expect(applyChange(later, changeOf(event), expiresAt + 1)).toBeUndefined();
});
