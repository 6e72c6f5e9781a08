import type { CardState } from "../client/chat-approvals.ts";

/** Every text of the components in one language. Texts of the policy, the model and the tools are not here. */
export interface ApprovalLabels {
  /** The button. It is followed by the words that name the call. */
  approve: string;
  deny: string;
  /** The name of the text box. */
  reason: string;
  reasonHint: string;
  retry: string;
  /** What the card says about its state, in a word or two. */
  states: Readonly<Record<CardState, string>>;
  /** What the state means, in a sentence. */
  notes: Readonly<Record<CardState, string>>;
  /** Around `approve` or `deny`, if the server has not recorded this answer. */
  unconfirmed: readonly [before: string, after: string];
  /** The decision that counts was not made on this page. */
  elsewhere: Readonly<{ approved: string; denied: string }>;
  decidedBy: (name: string) => string;
  requestedBy: (name: string) => string;
  waitsUntil: (time: string) => string;
  unreported: string;
  /** The person was writing this reason when the question was decided. */
  unsentReason: string;
  /** Around the hint of a tool. The model may have chosen these words. */
  assistantSays: readonly [before: string, after: string];
  hint: string;
  danger: string;
  expiresIn: (time: string) => string;
  expiring: string;
  /** The name of the card for assistive technology. */
  cardOf: (title: string) => string;
  arguments: string;
  showCharacters: (count: string) => string;
  showArguments: (count: string) => string;
  unseen: string;
  showRest: string;
  empty: string;
  yes: string;
  no: string;
  mixedScripts: (names: string) => string;
  lookAlikes: (name: string) => string;
  /** Names of scripts and of forms of letters, where they are not the English ones. */
  scripts: Readonly<Record<string, string>>;
  exactCall: string;
  runs: string;
  modelSent: string;
  outcome: string;
  result: string;
  wholeResult: string;
  error: string;
  status: string;
  resolution: Readonly<{
    question: string;
    happened: string;
    not: string;
    text: string;
    textHint: string;
    failed: string;
    didHappen: string;
    didNotHappen: string;
  }>;
  isAsked: (name: string) => string;
  isIn: (name: string, state: string) => string;
  expiresSoon: (name: string) => string;
  inboxEmpty: string;
  /** The button after the cards of an inbox that are drawn. */
  showMore: (left: number) => string;
  openChat: string;
  connection: Readonly<{
    connecting: string;
    open: string;
    reconnecting: string;
    reconnectingIn: (seconds: number) => string;
    closed: string;
    "signed-out": string;
    retry: string;
    lost: string;
    found: string;
  }>;
}

/** Some labels in other words. `states` and the other groups can have some of their texts too. */
export type LabelChanges = {
  readonly [K in keyof ApprovalLabels]?: ApprovalLabels[K] extends (...args: never[]) => string
    ? ApprovalLabels[K]
    : ApprovalLabels[K] extends string | readonly string[]
      ? ApprovalLabels[K]
      : Partial<ApprovalLabels[K]>;
};

/** Labels with some changes. */
export function changeLabels(changes: LabelChanges | undefined, base: ApprovalLabels): ApprovalLabels {
  if (!changes) return base;
  const merged: Record<string, unknown> = { ...base };
  for (const [name, change] of Object.entries(changes)) {
    if (change === undefined) continue;
    const isGroup = typeof change === "object" && !Array.isArray(change);
    merged[name] = isGroup ? Object.assign({}, merged[name], change) : change;
  }
  return merged as unknown as ApprovalLabels;
}
