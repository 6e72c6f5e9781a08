/**
 * What readers get. `event-to-chunks.ts` turns ADK events into chunks, `turn-log.ts` writes them, `log-reader.ts` and
 * `read-turn.ts` read them, `read-messages.ts` reads messages.
 */
export { findTurnOf } from "./find-turn-of.ts";
export { lastMessageAt } from "./follow-log.ts";
export { LogReader } from "./log-reader.ts";
export { isPause, readHeld } from "./read-held.ts";
export { type PageRange, readAllPages, readMessage, readMessages } from "./read-messages.ts";
export { type ReadOptions, readTurn, ReplyMoved } from "./read-turn.ts";
