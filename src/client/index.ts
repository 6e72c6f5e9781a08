/**
 * The browser's end of the chat wire at `/live` (PROTOCOL.md §5), as a transport for AI SDK's `useChat`.
 *
 *     websocket-chat-transport.ts   AI SDK's interface: one stream for each request of the page
 *     followed-chat.ts              which turn belongs to which request, and how much of the log has arrived
 *     websocket-connection.ts       opens, pings and replaces the socket
 *     server-frame.ts               parses the server's frames
 *
 * `only-new-messages.ts` is for pages that talk to the server over HTTP instead.
 */
export { WebSocketChatTransport, type WebSocketChatTransportOptions } from "./websocket-chat-transport.ts";
export type {
  ApprovalAnswer,
  ApprovalCardTexts,
  ApprovalInfo,
  ApprovalResolution,
  CardState,
  ChatApprovals,
} from "./chat-approvals.ts";
export { AllApprovals, type AllApprovalsOptions } from "./all-approvals.ts";
export { attachApprovals, type AttachedApprovals, type AttachOptions } from "./attach-approvals.ts";
export type { SyncState } from "./chat-sync.ts";
export type { HeldTransport, ToolResult, TransportHooks } from "./held-transport.ts";
export { SseChatTransport, type SseChatTransportOptions } from "./sse-chat-transport.ts";
export type { ServerOptions } from "./server-requests.ts";
export { onlyNewMessages, type SendMessagesRequest } from "./only-new-messages.ts";
export type { ConnectionState } from "./connection-state.ts";
export type { Timers } from "./timers.ts";
export type { WebSocketConnectionOptions as LiveSocketOptions } from "./websocket-connection-options.ts";
export type { WebSocketLike } from "./websocket-like.ts";
