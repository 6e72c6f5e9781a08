/** What an approval may do, as models for the checker: as its store changes it, and as clients see it over HTTP. */
import { type ApprovalState, approvalEvents, type ApprovalEvent, transition } from "../../src/protocol/approval.ts";
import type { Model } from "./linearizable.ts";

// ── in the store ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** A change of a row, or a look at it. */
export type StoreInput = ApprovalEvent | "read";
export interface StoreOutput {
  moved: boolean;
  state: ApprovalState;
}

/** Changes that also depend on a clock or on a fence, so that they may be refused although the state allows them. */
const conditional: ReadonlySet<StoreInput> = new Set(["expire", "reclaim", "begin", "succeed", "fail", "lose"]);

/** A register with compare-and-set along `transition`. */
export const storeModel: Model<ApprovalState, StoreInput, StoreOutput> = {
  initial: "pending",
  step(state, input, output) {
    const cell = input === "read" ? undefined : transition(state, input);
    const results: StoreOutput[] = [];
    if (cell && "to" in cell) results.push({ moved: true, state: cell.to });
    if (!cell || !("to" in cell) || conditional.has(input)) results.push({ moved: false, state });
    return results
      .filter((result) => !output || (result.moved === output.moved && result.state === output.state))
      .map((result) => result.state);
  },
};

// ── as clients see it ────────────────────────────────────────────────────────────────────────────────────────────────

export type ClientInput =
  | { do: "decide"; approved: boolean }
  /** A decision inside a chat request: its reply says that it was taken in, and not what became of it. */
  | { do: "answer"; approved: boolean }
  | { do: "resolve"; happened: boolean }
  | { do: "read" };
export interface ClientOutput {
  /** False for a 409. */
  accepted?: boolean;
  state?: ApprovalState;
}

/** The state of a row and what was decided about it. */
type Seen = `${ApprovalState}:${"" | "yes" | "no"}`;

/** What the server does by itself, at any time: everything but decisions. */
const ownEvents = approvalEvents.filter((event) => event !== "approve" && event !== "deny");

const reachable = new Map<Seen, readonly Seen[]>();

/** The state itself, and all that the server may make of it by itself. */
function later(seen: Seen): readonly Seen[] {
  const known = reachable.get(seen);
  if (known) return known;
  const found = new Set<Seen>([seen]);
  for (const each of found) {
    const [state, decision] = split(each);
    for (const event of ownEvents) {
      const cell = transition(state, event);
      if ("to" in cell) found.add(`${cell.to}:${decision}`);
    }
  }
  reachable.set(seen, [...found]);
  return [...found];
}

export const clientModel: Model<Seen, ClientInput, ClientOutput> = {
  initial: "pending:",
  step(before, input, output) {
    return later(before).flatMap((seen): readonly Seen[] => {
      const [state, decision] = split(seen);
      const change = changeOf(state, input);
      const isAccepted = change !== undefined || repeats(state, decision, input);
      if (output?.accepted !== undefined && output.accepted !== isAccepted) return [];
      // The reply has the row as it was when the reply was made, which may be later than the change.
      const after = change === undefined ? [seen] : later(`${change}:${decided(decision, input)}`);
      return output?.state === undefined ? after.slice(0, 1) : after.filter((each) => split(each)[0] === output.state);
    });
  },
};

/** The state that a request leads to; undefined if it changes nothing. */
function changeOf(state: ApprovalState, input: ClientInput): ApprovalState | undefined {
  if (state === "pending" && (input.do === "decide" || input.do === "answer"))
    return input.approved ? "approved" : "denied";
  if (state === "indeterminate" && input.do === "resolve") return input.happened ? "succeeded" : "failed";
  return undefined;
}

/** True for a decision that counts already: it is confirmed. */
function repeats(state: ApprovalState, decision: string, input: ClientInput): boolean {
  if (input.do !== "decide" || state === "expired" || state === "cancelled") return false;
  return decision === (input.approved ? "yes" : "no");
}

function decided(before: string, input: ClientInput): "" | "yes" | "no" {
  if (input.do === "decide" || input.do === "answer") return input.approved ? "yes" : "no";
  return before as "" | "yes" | "no";
}

function split(seen: Seen): [ApprovalState, "" | "yes" | "no"] {
  return seen.split(":") as [ApprovalState, "" | "yes" | "no"];
}
