/**
 * The server: requests and frames in, chunks out.
 *
 *     listen.ts      a whole server, for those who have none
 *     to-node-handler.ts  `node:http` to and from `Request` and `Response`: `to-request.ts`, `send-response.ts`
 *     mount-path.ts  where the routes are
 *     http/          the routes
 *     websocket/     the browser's WebSocket at `/live`
 *     interpret.ts   what a chat request means, on either transport
 *     views/         how a reader sees the log, on either transport
 *     server-bounds.ts  what clients use of the server, within `server-limits.ts`
 *     static-page.ts, inspector-routes.ts  the files of a built page, and what its panels show
 *     refusal.ts     what a client is told when something is refused or fails
 *
 * The word `live` means the model's connection (Gemini Live) everywhere except in the path `/live`.
 */
export { type Authenticate, type Authenticated, createHandler, type HandlerOptions } from "./http/index.ts";
export { createInspectorRoutes, type InspectorOptions, type InspectorRoutes } from "./inspector-routes.ts";
export { listen, type Listening, type ListenOptions } from "./listen.ts";
export { loadStaticPage, type StaticPage } from "./static-page.ts";
export type { Confirmation } from "./views/index.ts";
export type { ServerLimits } from "./server-limits.ts";

// The names before `adk-stream-protocol/node`. They stay for servers that use them.
export { sendResponse } from "./send-response.ts";
export { toRequest } from "./to-request.ts";
export { attachWebSocket as attachLive, type WebSocketEndpoint as Live } from "./websocket/index.ts";
export type { HandlerOptions as LiveOptions } from "./http/index.ts";
