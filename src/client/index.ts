export {
  type ToolResult,
  WebSocketChatTransport,
  type WebSocketChatTransportOptions,
} from "./websocket-chat-transport.ts";
export type {
  ConnectionState,
  Timers,
  WebSocketConnectionOptions as LiveSocketOptions,
} from "./websocket-connection.ts";
export type { WebSocketLike } from "./websocket-like.ts";
