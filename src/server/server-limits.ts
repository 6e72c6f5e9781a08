import { type Rate, readLimits } from "../protocol/read-limits.ts";

/** What one socket may do. */
export interface SocketLimits {
  /** Frames that a client may send at once, and the number it gains each second after that. Default: 256 at once, then 64 each second. */
  frames: Rate;
  /** How long a socket may read nothing while frames wait for it. Default 30 seconds. */
  stallMs: number;
  /** How often a socket is pinged; a socket that has not replied by the next ping is closed. Default 30 seconds. */
  heartbeatMs: number;
  /** How long a socket may send nothing after the handshake. Default 30 seconds. */
  silenceMs: number;
}

/**
 * What clients may use of a server. Limits per owner apply only if the server authenticates owners; otherwise all clients
 * are one owner, and the limits of the server apply. PROTOCOL.md §7 says what a client gets beyond each limit.
 */
export interface ServerLimits extends SocketLimits {
  /** Requests over HTTP that are not over. A reply that streams is not over. Default 5,000. */
  requests: number;
  /** Such requests of one owner. Default 1,500. */
  requestsPerOwner: number;
  /** Bytes in memory: of bodies and frames from their first byte until they are handled, and of large responses. Default 256 MiB. */
  bytes: number;
  /** Such bytes of one owner. Default 96 MiB. */
  bytesPerOwner: number;
  /** How long the body of a request may take to arrive. Default 60 seconds. */
  bodyMs: number;
  /** Reads of chats that are made at once, by requests and by sockets that catch up. The others wait. Default 4. */
  reads: number;
  /** Such reads of one owner. Default 2. */
  readsPerOwner: number;
  /** Reads that may wait. Default 10,000. */
  waitingReads: number;
  /** Waiting reads of one owner. Default 1,000. */
  waitingReadsPerOwner: number;
  /** Sockets at `/live`. Default 10,000. */
  sockets: number;
  /** Such sockets of one owner. Default 500. */
  socketsPerOwner: number;
  /** How often the sockets of one owner may attach to chats, or resume them. Default: 1,000 at once, then 50 each second. */
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
