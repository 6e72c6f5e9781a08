/**
 * How a turn talks to the model. `conversation.ts` is the interface, `by-request.ts` and `by-live-connection.ts` implement
 * it, `conversations.ts` chooses. `plan.ts` says how the ledger gets into the model's history, `update-history.ts` does it.
 * The live connection has two state machines: `connection-state.ts` for its life, `reply-state.ts` for what a turn hears.
 *
 * Only this folder and the wires know whether a chat is in request or live mode.
 */
export type { Conversation } from "./conversation.ts";
export { continuesUnattended, Conversations } from "./conversations.ts";
export { type Cut, cutHistory, type CutHistory } from "./cut-history.ts";
export { effectNotes } from "./effect-notes.ts";
export type { LiveOptions } from "./connection-pool.ts";
export { ModelCalls } from "./model-calls.ts";
