/**
 * React hooks and components for a chat with an agent. `styles.css` is the stylesheet of the components; without it they
 * have no style at all.
 *
 *     use-agent-chat.ts      a chat that loads itself, follows the server and has approvals
 *     use-approvals.ts       the approvals of a chat, or of a person
 *     use-client-tools.ts    runs the agent's browser tools
 *     approval-card.tsx      one call that a person decides about
 *     approval-inbox.tsx     all questions of a person
 *     connection-state.tsx   the state of the connection
 */
export { AgentChat, type AgentChatOptions } from "./agent-chat.ts";
export type { AgentData, AgentMessage, AgentMetadata } from "./agent-message.ts";
export { ApprovalCard, type ApprovalCardProps, type CardLookProps } from "./approval-card.tsx";
export { ApprovalInbox, type ApprovalInboxProps } from "./approval-inbox.tsx";
export { ApprovalLanguage, type LanguageProps } from "./approval-language.tsx";
export { callWords } from "./call-words.ts";
export type { CardClassNames, CardPart, CardSlot, CardSlots, SlotProps } from "./card-parts.tsx";
export { ConnectionState, type ConnectionStateProps } from "./connection-state.tsx";
export { Countdown, type CountdownProps } from "./countdown.tsx";
export { JsonBlock, JsonText } from "./json-text.tsx";
export type { ApprovalLabels, LabelChanges } from "./labels.ts";
export { LongValue, type LongValueProps } from "./long-value.tsx";
export { shownEvent } from "./looks.ts";
export { type AgentChatHelpers, useAgentChat } from "./use-agent-chat.ts";
export { type AllApprovalsOptions, useApprovals, type UsedApprovals } from "./use-approvals.ts";
export { type ClientToolContext, type ClientTools, useClientTools } from "./use-client-tools.ts";
export { VisibleText, type VisibleTextProps } from "./visible-text.tsx";
