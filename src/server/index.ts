export type { Confirmation } from "./dialect.ts";
export type { Authenticate } from "./guard.ts";
export { createHandler, type HandlerOptions } from "./handler.ts";
export { attachLive, type Live, type LiveOptions } from "./live.ts";
export type { LiveLimits } from "./live-limits.ts";
export { listen, type Listening, type ListenOptions } from "./listen.ts";
