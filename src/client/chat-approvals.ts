import type { ApprovalCard } from "../protocol/card.ts";

/** The texts of a card, as the server's owner wrote them. */
export type ApprovalCardTexts = ApprovalCard;

/**
 * What a card shows. `sending`: an answer was given in this page, and the server has not recorded it yet. `unsent`: it could
 * not be delivered, and `problem` says why. `unknown`: it is not known whether the call took effect.
 */
export type CardState =
  | "asked"
  | "sending"
  | "unsent"
  | "approved"
  | "running"
  | "waiting"
  | "done"
  | "failed"
  | "denied"
  | "expired"
  | "cancelled"
  | "unknown";

/** A person's answer to the question whether a call may run. */
export interface ApprovalAnswer {
  approved: boolean;
  reason?: string;
}

/** What a person says about a call of which it is not known whether it took effect. */
export type ApprovalResolution = { happened: true; outcome?: unknown } | { happened: false; reason?: string };

/** One question, with all that a card shows. A new object at each change, so that it can be compared. */
export interface ApprovalInfo {
  approvalId: string;
  toolCallId: string;
  toolName: string;
  state: CardState;
  /** The arguments as stored on the server. */
  input: unknown;
  /** The arguments as the model sent them, if the tool's schema changed them. */
  rawInput?: unknown;
  card?: ApprovalCardTexts;
  /** What the tool itself said when it asked. The hint of the card is more important. */
  hint?: string;
  createdAt?: number;
  expiresAt?: number;
  /** Until when the result of a call that has begun may be reported. */
  reportBy?: number;
  /** While the call waits: what its tool said when it had begun. */
  interim?: unknown;
  output?: unknown;
  errorText?: string;
  /** What was answered in this page. */
  answer?: ApprovalAnswer;
  /** True if a decision made elsewhere counted instead of the answer given here. */
  decidedElsewhere?: boolean;
  decidedBy?: string;
  /** The actor whose message the call comes from. */
  requestedBy?: string;
  /** Who said what became of a call whose outcome was not known. */
  resolvedBy?: string;
  /** The digest of the action. */
  digest?: string;
  reason?: string;
  /** Why an answer could not be delivered. */
  problem?: string;
  chatId?: string;
}

/** The questions of a chat, or all questions of a person, and the way to answer them. */
export interface ChatApprovals {
  get(approvalId: string): ApprovalInfo | undefined;
  list(): ApprovalInfo[];
  /** Resolves when the server has recorded a decision, whichever it is; rejects if the answer could not be delivered. */
  answer(approvalId: string, answer: ApprovalAnswer): Promise<void>;
  /** Says what became of a call in the state `unknown`. */
  resolve(approvalId: string, resolution: ApprovalResolution): Promise<void>;
  /** Sends an answer again that could not be delivered. */
  retry(approvalId: string): void;
}
