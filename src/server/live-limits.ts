/** What one socket may do. */
export interface ConnectionLimits {
  /** Frames a client may send at once, and each second from then on. */
  frames: { size: number; perSecond: number };
  /** How long a socket may take nothing of what waits for it. */
  stallMs: number;
  /** How often a socket is pinged; one that has not answered by the next time is gone. */
  heartbeatMs: number;
  /** How long a socket may say nothing after the handshake. */
  silenceMs: number;
}

/** What all sockets of a server may do together. */
export interface LiveLimits extends ConnectionLimits {
  /** Sockets in all. */
  sockets: number;
  /** Sockets of one owner, where owners are told apart. */
  socketsPerOwner: number;
}
