import { isDeepStrictEqual } from "node:util";
import { BridgeError } from "../../protocol/index.ts";
import type { Approval } from "../../stores/index.ts";
import { type ToolOutcome, toObject } from "../adk/tool-result.ts";
import { isPreviewOf } from "../files/index.ts";

/** What someone outside reports about a call that has begun. */
export type Report = { result: unknown } | { error: string };

/** What a person says about a call whose outcome was not known. */
export interface Resolution {
  approvalId: string;
  happened: boolean;
  /** The result, if the call happened. */
  outcome?: unknown;
  reason?: string;
}

/** A report as the outcome of its call. */
export function reportToOutcome(report: Report): ToolOutcome {
  const { result, error } = report as { result?: unknown; error?: unknown };
  if ((result === undefined) === (error === undefined))
    throw new BridgeError(
      "invalid",
      `A report has either a result or an error; this one has ${result === undefined ? "neither" : "both"}.`,
    );
  if (error === undefined) return { event: "succeed", outcome: toObject(result) };
  if (typeof error !== "string" || error === "")
    throw new BridgeError(
      "invalid",
      `The error of a report must be text that is not empty; it is ${error === "" ? "empty" : typeof error}.`,
    );
  return { event: "fail", outcome: { error } };
}

/** True when the row has this very outcome. */
export function isSameOutcome({ state, outcome }: Approval, result: ToolOutcome): boolean {
  if (state !== (result.event === "succeed" ? "succeeded" : "failed")) return false;
  return isDeepStrictEqual(outcome ?? {}, result.outcome) || isPreviewOf(outcome, result.outcome);
}

/** What a person found out, as the outcome of the call. */
export function resolutionToOutcome({ happened, outcome, reason }: Omit<Resolution, "approvalId">): ToolOutcome {
  if (happened)
    return {
      event: "succeed",
      outcome: toObject(outcome === undefined ? "A person has found out that the call took effect." : outcome),
    };
  if (outcome !== undefined)
    throw new BridgeError("invalid", "A call that did not happen has no outcome. Say why in `reason`.");
  const error = "A person has found out that the call did not take effect.";
  return { event: "fail", outcome: { error: reason ? `${error} Reason: ${reason}` : error } };
}
