/**
 * The browser's end: transports for AI SDK's chats (PROTOCOL.md §1 and §5), and approvals that are acknowledged.
 *
 *     websocket-chat-transport.ts     AI SDK's interface; loads the next four files when a page makes one
 *     loaded-websocket-transport.ts   one stream for each request of the page
 *     followed-chat.ts                which turn belongs to which request, and how much of the log has arrived
 *     websocket-connection.ts         opens, pings and replaces the socket
 *     server-frame.ts                 parses the server's frames
 *
 *     sse-chat-transport.ts           the same over HTTP
 *     sse-stream.ts                   one stream, which stays open while a call waits and outlives its connections
 *     attach-approvals.ts             answers beside the open stream, for any chat of AI SDK
 *     chat-sync.ts                    reads what the chat has become without this page
 *     all-approvals.ts                the questions of all chats
 *     approval-ledger.ts              what is known of approvals, for both
 *     approval-outbox.ts              keeps and repeats answers until the server has recorded them
 *
 * `only-new-messages.ts` is for pages with AI SDK's own HTTP transport.
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
export { SseChatTransport } from "./sse-chat-transport.ts";
export type { SseChatTransportOptions } from "./sse-chat-transport-options.ts";
export type { ServerOptions } from "./server-requests.ts";
export { onlyNewMessages, type SendMessagesRequest } from "./only-new-messages.ts";
export type { ConnectionState } from "./connection-state.ts";
export type { Timers } from "./timers.ts";
export type { WebSocketConnectionOptions as LiveSocketOptions } from "./websocket-connection-options.ts";
export type { WebSocketLike } from "./websocket-like.ts";
