/**
 * How a reader sees the log. The log has one form; a reader may have asked for another dialect, may not have the
 * beginning of the message, and may be an AI SDK that knows more or fewer chunks. `viewOf` composes these. Nothing in
 * this folder changes a chat, and nothing knows on which transport the reader is.
 */
export { type Confirmation, confirmationsIn, dialectOf, messagesInDialect } from "./dialect.ts";
export { findHeld } from "./find-held.ts";
export { findRunning } from "./find-running.ts";
export { joinTurns } from "./join-turns.ts";
export { messageToChunks } from "./message-to-chunks.ts";
export { TurnView } from "./turn-view.ts";
export type { View } from "./view.ts";
export { viewOf } from "./view-of.ts";
