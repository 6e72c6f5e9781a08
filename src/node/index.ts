/**
 * The bridge on a Node server of your own: `node:http`, Express, Fastify and others.
 *
 *     const options = { bridge, authenticate };
 *     app.use("/agent", toNodeHandler(createHandler(options)));
 *     attachWebSocket(server, options);
 */
export { type NodeHandler, toNodeHandler } from "../server/to-node-handler.ts";
export { attachWebSocket, type WebSocketEndpoint } from "../server/websocket/index.ts";
