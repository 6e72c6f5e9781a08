/** The text as a WebSocket close reason: at most 123 bytes, and never half a character. */
export function toCloseReason(text: string): string {
  return new TextDecoder().decode(new TextEncoder().encode(text).subarray(0, 123), { stream: true });
}
