/**
 * One call from the question to the outcome: `hold-calls.ts` makes the row, `executor.ts` runs an approved call once,
 * `outcome.ts` says what became of it, `family.ts` knows which rows belong together. The states are in
 * `protocol/approval.ts`.
 */
export { Executor } from "./executor.ts";
export { holdCalls } from "./hold-calls.ts";
export { approvalToView } from "./outcome.ts";
export type { ToolPolicy } from "./policy.ts";
