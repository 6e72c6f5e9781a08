/**
 * React hooks for a chat with an agent.
 *
 *     use-agent-chat.ts     a chat that loads itself, follows the server and has approvals
 *     use-approvals.ts      the approvals of a chat, or of a person
 *     use-client-tools.ts   runs the agent's browser tools
 */
export { AgentChat, type AgentChatOptions } from "./agent-chat.ts";
export { type AgentChatHelpers, useAgentChat } from "./use-agent-chat.ts";
export { type AllApprovalsOptions, useApprovals, type UsedApprovals } from "./use-approvals.ts";
export { type ClientToolContext, type ClientTools, useClientTools } from "./use-client-tools.ts";
export type { AgentData, AgentMessage, AgentMetadata } from "./agent-message.ts";
