import { readLimits } from "../protocol/read-limits.ts";

/** What owners may use of a bridge. PROTOCOL.md §7 says what a client gets beyond each limit. */
export interface BridgeLimits {
  /** Turns that requests have started and that are not over. */
  turns: number;
  turnsPerOwner: number;
  /** How long a turn after an answer, and the call that it approves, wait while other answers are being recorded. */
  decisionsFirstMs: number;
  /** Chats in the store. */
  chats: number;
  chatsPerOwner: number;
  /** Calls without an outcome: questions, approved calls, running calls, calls that wait for a report. */
  waitingCalls: number;
  waitingCallsPerOwner: number;
  waitingCallsPerChat: number;
  /** Calls in one response of the model. */
  callsPerResponse: number;
  /** Connections to a Gemini Live model. */
  liveConnections: number;
  liveConnectionsPerOwner: number;
  /** Requests to the model in any 60 seconds; in live mode, what the model is told and its responses with calls. */
  modelCallsPerMinute: number;
  modelCallsPerMinutePerOwner: number;
}

/** Far above what people do, and far below what stops a server. */
export const defaultBridgeLimits: BridgeLimits = {
  turns: 2000,
  turnsPerOwner: 1000,
  decisionsFirstMs: 2000,
  chats: 1_000_000,
  chatsPerOwner: 20_000,
  waitingCalls: 200_000,
  waitingCallsPerOwner: 5000,
  waitingCallsPerChat: 256,
  callsPerResponse: 256,
  liveConnections: 2000,
  liveConnectionsPerOwner: 200,
  modelCallsPerMinute: Infinity,
  modelCallsPerMinutePerOwner: Infinity,
};

/** The given limits and the defaults. Throws a sentence about the first wrong one. */
export function readBridgeLimits(given: unknown): BridgeLimits {
  return readLimits(given, defaultBridgeLimits);
}
