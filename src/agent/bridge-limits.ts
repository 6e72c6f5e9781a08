import { readLimits } from "../protocol/read-limits.ts";

/** What owners may use of a bridge. PROTOCOL.md §7 says what a client gets beyond each limit. */
export interface BridgeLimits {
  /** Turns that requests have started and that are not over. Default 2,000. */
  turns: number;
  /** Such turns of one owner. Default 1,000. */
  turnsPerOwner: number;
  /**
   * How long a turn after an answer, and the call that it approves, wait while other answers are being recorded. Default
   * 2 seconds.
   */
  decisionsFirstMs: number;
  /** Chats in the store. Default 1,000,000. */
  chats: number;
  /** Chats of one owner. Default 20,000. */
  chatsPerOwner: number;
  /** Calls without an outcome: questions, approved calls, running calls, calls that wait for a report. Default 200,000. */
  waitingCalls: number;
  /** Such calls of one owner. Default 5,000. */
  waitingCallsPerOwner: number;
  /** Such calls of one chat. Default 256. */
  waitingCallsPerChat: number;
  /** Calls in one response of the model. Default 256. */
  callsPerResponse: number;
  /** Connections to a Gemini Live model. Default 2,000. */
  liveConnections: number;
  /** Such connections of one owner. Default 200. */
  liveConnectionsPerOwner: number;
  /** Requests to the model in any 60 seconds; in live mode, what the model is told and its responses with calls. Default: no limit. */
  modelCallsPerMinute: number;
  /** Such requests of one owner. Default: no limit. */
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
