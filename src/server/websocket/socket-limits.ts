/** What one socket may do. */
export interface SocketLimits {
  /** Frames that a client may send at once, and the number it gains each second after that. */
  frames: { size: number; perSecond: number };
  /** How long a socket may read nothing while frames wait for it. */
  stallMs: number;
  /** How often a socket is pinged; a socket that has not replied by the next ping is closed. */
  heartbeatMs: number;
  /** How long a socket may send nothing after the handshake. */
  silenceMs: number;
}

/** What all sockets of a server may do together. */
export interface LiveLimits extends SocketLimits {
  /** Sockets of the server. */
  sockets: number;
  /** Sockets of one owner, if the server authenticates owners. */
  socketsPerOwner: number;
}
