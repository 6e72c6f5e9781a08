import type { ApprovalCard } from "./card.ts";

/**
 * The approval of one tool call, as data.
 *
 *   pending ─ approve ─► approved ─ claim ─► executing ─ succeed ─► succeeded
 *      │ deny ─► denied      │ expire ─► expired    ├─ fail ─► failed
 *      │ expire ─► expired   │ cancel ─► cancelled  ├─ reclaim ─► executing (higher fence)
 *      └ cancel ─► cancelled │                      ├─ lose ─► indeterminate ─ succeed | fail ─►
 *                            │                      └─ begin ─┐
 *                            └─ begin ─► waiting ◄────────────┘
 *                                           └─ succeed | fail | lose ─►
 *
 * `executing`: a process of ours is inside the call, under a lease. `waiting`: the call has begun, and someone outside will
 * report its result: a browser, a webhook, a person. `transition` is pure and total. A store moves a row only along it, one compare-and-set at a time;
 * docs/design/approval.md names each rule.
 */

/** Every state of an approval. docs/design/approval.md draws how they follow each other. */
export const approvalStates = [
  "pending",
  "approved",
  "executing",
  "waiting",
  "succeeded",
  "failed",
  "denied",
  "expired",
  "cancelled",
  "indeterminate",
] as const;
/** Where an approval is between the question and the outcome. */
export type ApprovalState = (typeof approvalStates)[number];

/** Everything that can happen to an approval. */
export const approvalEvents = [
  "approve",
  "deny",
  "expire",
  "cancel",
  "claim",
  "reclaim",
  "begin",
  "succeed",
  "fail",
  "lose",
] as const;
/** What moves an approval from one state to another. */
export type ApprovalEvent = (typeof approvalEvents)[number];

/** Why an event does not apply: the row is not decided yet, decided already, running, or over. */
export type Refusal = "undecided" | "decided" | "running" | "over";

type Cell = { to: ApprovalState } | { refused: Refusal };

const to = (state: ApprovalState): Cell => ({ to: state });
const no = (refused: Refusal): Cell => ({ refused });
const over = Object.fromEntries(approvalEvents.map((event) => [event, no("over")])) as Record<ApprovalEvent, Cell>;

/** Every state × event. The compiler notices a missing cell. */
export const transitions: Readonly<Record<ApprovalState, Readonly<Record<ApprovalEvent, Cell>>>> = {
  pending: {
    approve: to("approved"),
    deny: to("denied"),
    expire: to("expired"),
    cancel: to("cancelled"),
    claim: no("undecided"),
    reclaim: no("undecided"),
    begin: no("undecided"),
    succeed: no("undecided"),
    fail: no("undecided"),
    lose: no("undecided"),
  },
  approved: {
    approve: no("decided"),
    deny: no("decided"),
    expire: to("expired"),
    cancel: to("cancelled"),
    claim: to("executing"),
    reclaim: no("decided"),
    begin: to("waiting"),
    succeed: no("decided"),
    fail: no("decided"),
    lose: no("decided"),
  },
  executing: {
    approve: no("running"),
    deny: no("running"),
    expire: no("running"),
    cancel: no("running"),
    claim: no("running"),
    reclaim: to("executing"),
    begin: to("waiting"),
    succeed: to("succeeded"),
    fail: to("failed"),
    lose: to("indeterminate"),
  },
  waiting: {
    approve: no("running"),
    deny: no("running"),
    expire: no("running"),
    cancel: no("running"),
    claim: no("running"),
    reclaim: no("running"),
    begin: no("running"),
    succeed: to("succeeded"),
    fail: to("failed"),
    lose: to("indeterminate"),
  },
  indeterminate: { ...over, succeed: to("succeeded"), fail: to("failed") },
  succeeded: over,
  failed: over,
  denied: over,
  expired: over,
  cancelled: over,
};

/** The next state, or why there is none. A state of a later release is left alone. */
export function transition(state: ApprovalState, event: ApprovalEvent): Cell {
  return (transitions as Partial<typeof transitions>)[state]?.[event] ?? no("running");
}

const settled: ReadonlySet<string> = new Set<ApprovalState>([
  ...(["succeeded", "failed", "denied", "expired", "cancelled", "indeterminate"] as const),
]);

/**
 * True if the model can be told an outcome. `indeterminate` is one: it is not known whether the call took effect. A state of
 * a later release is none: there is nothing that this release could tell.
 */
export function isSettled(state: ApprovalState): boolean {
  return settled.has(state);
}

/** What a crash in the middle of the call means; declared per tool, `opaque` by default. */
export type EffectClass = "readonly" | "idempotent" | "queryable" | "transactional" | "opaque";

/** A person's answer. */
export interface Decision {
  /** Which approval is decided. */
  approvalId: string;
  /** True is a yes, false is a no. */
  approved: boolean;
  /** What the person said about it. The model is told the reason of a no. */
  reason?: string;
}

/** The data of a `data-approval` part, which goes beside the stock tool parts. A later one replaces one with the same id. */
export interface ApprovalData {
  /** The id by which the approval is decided. */
  approvalId: string;
  /** The call's id, which its tool part has too. */
  toolCallId: string;
  /** The name that the model calls. */
  toolName: string;
  /** Where the approval is now. */
  state: ApprovalState;
  /** What the server says about the call beside its arguments. */
  card?: ApprovalCard;
  /** Until when a person may answer, in milliseconds since 1970. */
  expiresAt?: number;
  /** Who decided: the actor that authentication found. */
  decidedBy?: string;
  /** What the person said, or why the call was cancelled. */
  reason?: string;
  /** Until when the result of a call that has begun may be reported. In the stream while it waits, and if none came in time. */
  reportBy?: number;
  /** While the call waits: what its tool said when it had begun. */
  interim?: unknown;
  /** Who resolved a call whose outcome was not known. */
  resolvedBy?: string;
  /** What the tool returned. */
  output?: unknown;
  /** Why the call has no output. */
  errorText?: string;
}

/** A row as `GET /approvals` returns it. */
export interface ApprovalView extends ApprovalData {
  id: string;
  /** The id by which clients know the chat. Lists have it. */
  chat?: string;
  /** In a list, instead of a large `output`: its size in bytes of JSON. `GET /stream/:id/messages` has the output. */
  outputSize?: number;
  /** Whose chat the call is in. */
  owner: string;
  /** The actor whose message the call comes from. */
  requestedBy?: string;
  /** The assistant message the call is in. */
  messageId: string;
  /** The arguments as the tool gets them. */
  input: unknown;
  /** The arguments as the model sent them, if the tool's schema changed them. */
  rawInput?: unknown;
  digest: string;
  /** What the tool itself said when it asked for approval. The hint of the card is more important. */
  hint?: string;
  createdAt: number;
  decidedAt?: number;
  finishedAt?: number;
}
