/**
 * React components for approvals. `styles.css` is the stylesheet; without it the components have no style at all.
 *
 *     approval-card.tsx      one call that a person decides about
 *     approval-inbox.tsx     all questions of a person
 *     connection-state.tsx   the state of the connection
 */
export { ApprovalCard, type ApprovalCardProps, type CardLookProps } from "./approval-card.tsx";
export { ApprovalInbox, type ApprovalInboxProps } from "./approval-inbox.tsx";
export { ApprovalLanguage, type LanguageProps } from "./approval-language.tsx";
export { callWords } from "./call-words.ts";
export type { CardInfo, MessagePart } from "./card-info.ts";
export type { CardClassNames, CardPart, CardSlot, CardSlots, SlotProps } from "./card-parts.tsx";
export { ConnectionState, type ConnectionStateProps } from "./connection-state.tsx";
export { Countdown, type CountdownProps } from "./countdown.tsx";
export { JsonBlock, JsonText } from "./json-text.tsx";
export { type ApprovalLabels, type LabelChanges, labelsIn } from "./labels.ts";
export { LongValue, type LongValueProps } from "./long-value.tsx";
export { shownEvent } from "./looks.ts";
export { VisibleText, type VisibleTextProps } from "./visible-text.tsx";
