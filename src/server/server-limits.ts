import { type Rate, readLimits } from "../protocol/read-limits.ts";

/** What one socket may do. */
export interface SocketLimits {
  /** Frames that a client may send at once, and the number it gains each second after that. */
  frames: Rate;
  /** How long a socket may read nothing while frames wait for it. */
  stallMs: number;
  /** How often a socket is pinged; a socket that has not replied by the next ping is closed. */
  heartbeatMs: number;
  /** How long a socket may send nothing after the handshake. */
  silenceMs: number;
}

/**
 * What clients may use of a server. Limits per owner apply only if the server authenticates owners; otherwise all clients
 * are one owner, and the limits of the server apply. PROTOCOL.md §7 says what a client gets beyond each limit.
 */
export interface ServerLimits extends SocketLimits {
  /** Requests over HTTP that are not over. A reply that streams is not over. */
  requests: number;
  requestsPerOwner: number;
  /** Bytes in memory: of bodies and frames from their first byte until they are handled, and of large responses. */
  bytes: number;
  bytesPerOwner: number;
  /** How long the body of a request may take to arrive. */
  bodyMs: number;
  /** Reads of chats that are made at once, by requests and by sockets that catch up. The others wait. */
  reads: number;
  readsPerOwner: number;
  /** Reads that may wait. */
  waitingReads: number;
  waitingReadsPerOwner: number;
  /** Sockets at `/live`. */
  sockets: number;
  socketsPerOwner: number;
  /** How often the sockets of one owner may attach to chats, or resume them. */
  attachesPerOwner: Rate;
}

const mebibyte = 1024 * 1024;

/** Far above what people do, and far below what stops a server. */
export const defaultServerLimits: ServerLimits = {
  requests: 5000,
  requestsPerOwner: 1500,
  bytes: 256 * mebibyte,
  bytesPerOwner: 96 * mebibyte,
  bodyMs: 60_000,
  reads: 4,
  readsPerOwner: 2,
  waitingReads: 10_000,
  waitingReadsPerOwner: 1000,
  sockets: 10_000,
  socketsPerOwner: 500,
  attachesPerOwner: { size: 1000, perSecond: 50 },
  frames: { size: 256, perSecond: 64 },
  stallMs: 30_000,
  heartbeatMs: 30_000,
  silenceMs: 30_000,
};

/** The given limits and the defaults. Throws a sentence about the first wrong one. */
export function readServerLimits(given: unknown, { isAuthenticated }: { isAuthenticated: boolean }): ServerLimits {
  const limits = readLimits(given, defaultServerLimits);
  if (isAuthenticated) return limits;
  const rate = { size: Infinity, perSecond: Infinity };
  return {
    ...limits,
    requestsPerOwner: Infinity,
    bytesPerOwner: Infinity,
    socketsPerOwner: Infinity,
    readsPerOwner: limits.reads,
    waitingReadsPerOwner: limits.waitingReads,
    ...((given as Partial<ServerLimits> | undefined)?.attachesPerOwner === undefined && { attachesPerOwner: rate }),
  };
}
