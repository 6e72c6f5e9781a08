/**
 * The state of the connection, to be shown to a person. A new object at each change, so that it can be compared.
 * `signed-out`: the server has closed the socket because it no longer knows its user. It is not opened again by itself.
 */
export interface ConnectionState {
  /** Where the connection is between the first attempt and its end. */
  status: "idle" | "connecting" | "open" | "reconnecting" | "closed" | "signed-out";
  /** The round trip time of the last ping. */
  latencyMs?: number;
  /** When the next attempt begins, by the transport's clock; absent during an attempt. */
  retryAt?: number;
}
