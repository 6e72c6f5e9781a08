/**
 * Who is next in a chat: its turns in order, what answers mean, what follows from a decision (`settlement.ts`), a deadline
 * or a crash (`due-work.ts`, `recover.ts`).
 */
export { Admission } from "./admission.ts";
export type { Answer } from "./answers.ts";
export { type ApprovalListFilter, listApprovals } from "./approval-list.ts";
export { ChatTurns } from "./chat-turns.ts";
export { Chats, type ChatView } from "./chats.ts";
export { DueWork, type Unshown } from "./due-work.ts";
export { StateConflict, unknownChat } from "./errors.ts";
export { Recovery } from "./recovery.ts";
export { Relay } from "./relay.ts";
export { type HeldReading, Requests } from "./requests.ts";
export type { Report, Resolution } from "./reports.ts";
export { sayAgain } from "./say-again.ts";
export { Retention, type RetentionOptions } from "./retention.ts";
export { type DecisionResult, Settlement } from "./settlement.ts";
export { type Reading, type Reply, type Submission, type Submitted, Submissions } from "./submissions.ts";
export { type MakeTitle, Titles } from "./titles.ts";
