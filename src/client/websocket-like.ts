/** The part of a WebSocket that is used; those of browsers, Node and `ws` fit. Its {@link WebSocketHandlers} are set too. */
export interface WebSocketLike {
  readonly readyState: number;
  readonly bufferedAmount: number;
  send(data: string): void;
  close(code?: number, reason?: string): void;
}

/** Not in {@link WebSocketLike}, because each implementation has its own types for the events. */
export interface WebSocketHandlers {
  onopen(): void;
  onmessage(event: { data: unknown }): void;
  onerror(): void;
  onclose(event: { code: number; reason: string }): void;
}
