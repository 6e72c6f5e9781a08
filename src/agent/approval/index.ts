/**
 * One call from the question to the outcome. Its row is an `Approval`; the states are in `protocol/approval.ts`. Rows of
 * calls that no one is asked about, but whose result comes from outside, begin as `approved`.
 *
 *   The life of a gated call:
 *     adk/gate-plugin.ts        the model calls the tool; the gate asks `policies.ts` and holds the call
 *     policies.ts               decides by policy whether a person is asked
 *     hold-calls.ts             makes the row: `pending`, with what `make-card.ts` says about the call
 *     log/turn-log.ts           shows the question; the turn ends as parked
 *     chat/settlement.ts        a person says yes: `approved`, and the call starts
 *     executor.ts               claims the row (`executing`), runs the tool through adk/tool-calls.ts, records the outcome
 *     turn.ts                   a second turn shows the outcome, in the words of `outcome.ts`
 *     conversation/plan.ts      decides what the model is told, once; the conversation tells it
 *
 * `family.ts` knows which rows belong together when an agent is run as a tool, `unseen-questions.ts` which questions were
 * asked while the user was away.
 */
export { type Authorize, Authorizer } from "./authorizer.ts";
export { Executor } from "./executor.ts";
export { holdCalls } from "./hold-calls.ts";
export { notedStore } from "./noted-store.ts";
export { approvalsToViews, approvalToView } from "./outcome.ts";
export { checkPolicies } from "./check-policies.ts";
export { Policies } from "./policies.ts";
export type { PolicyContext, PolicyOptions, ToolPolicy } from "./policy.ts";
export { UnseenQuestions } from "./unseen-questions.ts";
