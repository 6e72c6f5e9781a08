export {
  type ToolResult,
  WebSocketChatTransport,
  type WebSocketChatTransportOptions,
} from "./websocket-chat-transport.ts";
export type { ConnectionState, LiveSocketOptions, Timers, WebSocketLike } from "./live-socket.ts";
