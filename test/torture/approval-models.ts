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
  /** The end of a long-running call. */
  | { do: "report"; happened: boolean }
  /** The result of a browser tool: the reply says that it was taken in, and not whether it counts. */
  | { do: "give" }
  | { do: "read" };
export interface ClientOutput {
  /** False for a 409. */
  accepted?: boolean;
  state?: ApprovalState;
}

/** The state of a row, what was decided about it, and what was reported of it. */
type Seen = `${ApprovalState}:${Said}:${Said}`;
type Said = "" | "yes" | "no";

const toSaid = (value: boolean): Said => (value ? "yes" : "no");

/** An approval as clients see it. Only a client can say what became of one that `isReported`. */
export function clientModel(isReported: boolean): Model<Seen, ClientInput, ClientOutput> {
  /** What the server does by itself, at any time. */
  const ownEvents = approvalEvents.filter((event) => {
    if (event === "approve" || event === "deny") return false;
    return !isReported || (event !== "succeed" && event !== "fail");
  });
  const reachable = new Map<Seen, readonly Seen[]>();

  /** The state itself, and all that the server may make of it by itself. */
  const later = (seen: Seen): readonly Seen[] => {
    const known = reachable.get(seen);
    if (known) return known;
    const found = new Set<Seen>([seen]);
    for (const each of found) {
      const [state, decision, report] = split(each);
      for (const event of ownEvents) {
        const cell = transition(state, event);
        if ("to" in cell) found.add(`${cell.to}:${decision}:${report}`);
      }
    }
    reachable.set(seen, [...found]);
    return [...found];
  };

  return {
    initial: "pending::",
    step(before, input, output) {
      return later(before).flatMap((seen): readonly Seen[] => {
        const change = changeOf(seen, input);
        const isAccepted = change !== undefined || repeats(seen, input);
        if (output?.accepted !== undefined && output.accepted !== isAccepted) return [];
        // The reply has the row as it was when the reply was made, which may be later than the change.
        const after = change === undefined ? [seen] : later(change);
        return output?.state === undefined
          ? after.slice(0, 1)
          : after.filter((each) => split(each)[0] === output.state);
      });
    },
  };
}

/** What a request makes of an approval; undefined if it changes nothing. */
function changeOf(seen: Seen, input: ClientInput): Seen | undefined {
  const [state, decision, report] = split(seen);
  const ended = (happened: boolean) => (happened ? "succeeded" : "failed");
  switch (input.do) {
    case "decide":
    case "answer":
      return state === "pending"
        ? `${input.approved ? "approved" : "denied"}:${toSaid(input.approved)}:${report}`
        : undefined;
    case "resolve":
      return state === "indeterminate" ? `${ended(input.happened)}:${decision}:${report}` : undefined;
    case "report":
      // The call may have begun although its process died before it could say so.
      return state === "executing" || state === "waiting" || state === "indeterminate"
        ? `${ended(input.happened)}:${decision}:${toSaid(input.happened)}`
        : undefined;
    case "give":
      return state === "approved" || state === "waiting" ? `succeeded:${decision}:yes` : undefined;
    default:
      return undefined;
  }
}

/** True for what counts already: it is confirmed. */
function repeats(seen: Seen, input: ClientInput): boolean {
  const [state, decision, report] = split(seen);
  if (input.do === "decide") return state !== "expired" && state !== "cancelled" && decision === toSaid(input.approved);
  if (input.do === "report") return report === toSaid(input.happened);
  return input.do === "give" && state !== "pending";
}

function split(seen: Seen): [ApprovalState, Said, Said] {
  return seen.split(":") as [ApprovalState, Said, Said];
}
