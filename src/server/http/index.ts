/**
 * Everything about one HTTP request: who may send it (`guard`, `identify`, `cors`), how its body is read (`readBody`), which route it
 * takes (`createHandler`), and the form of the reply (`sseResponse`, `jsonResponse`). A WebSocket handshake is an HTTP
 * request too, so `websocket/` uses the guard and the refusal from here.
 */
export { checkGuardOptions, guard } from "./guard.ts";
export { createHandler, type HandlerOptions } from "./handler.ts";
export { type Authenticate, type Authenticated, identify } from "./identify.ts";
export { errorResponse } from "./json-response.ts";
export { defaultMaxBodyBytes } from "./read-body.ts";
export { refuseConnection } from "./refuse-connection.ts";
