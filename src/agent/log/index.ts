/**
 * What readers get. `event-to-chunks.ts` turns ADK events into chunks, `turn-log.ts` writes them, `follow-log.ts` and
 * `read-turn.ts` read them, `log-to-messages.ts` rebuilds messages.
 */
export { followLog, lastMessageAt } from "./follow-log.ts";
export { type PageRange, readAllPages, readMessage, readMessages } from "./read-messages.ts";
export { type LoggedChunk, type ReadOptions, readTurn } from "./read-turn.ts";
