import { type ConnectionState, onlyNewMessages, WebSocketChatTransport } from "adk-stream-protocol/client";
import { type ChatTransport, DefaultChatTransport, type UIMessage } from "ai";
import type { Mode } from "./mode.ts";
import type { StreamTap } from "./stream-tap.ts";

/**
 * The transport of a chat, which uses SSE or the WebSocket depending on the mode. The chat keeps this one transport and
 * does not know the mode, so a change of mode keeps the messages, the cards and the draft.
 */
export interface Wires extends ChatTransport<UIMessage> {
  mode(): Mode;
  /** Changes the mode from the next request on. Leaving BIDI closes the WebSocket at once. */
  choose(mode: Mode): void;
  /** Opens the WebSocket in BIDI, so that the server can send turns that this page did not start. No effect in SSE. */
  connect(): void;
  /** Reconnects at once instead of waiting for the next attempt, because the server is known to be reachable. */
  reconnectNow(): void;
  /** Sends a browser tool's result for a call in an older message. Undefined in SSE, where only a chat request can. */
  sendResult: ((toolCallId: string, result: unknown) => Promise<void>) | undefined;
  /** The state of the WebSocket; undefined in SSE. */
  connection(): ConnectionState | undefined;
  subscribe(listener: () => void): () => void;
  /** Closes the WebSocket when the person leaves the chat. */
  close(): void;
}

export function createWires(chatId: string, { tap, mode: initial }: { tap: StreamTap; mode: Mode }): Wires {
  // The page may have few or many of the chat's messages, so a request has only what is new.
  const sse = new DefaultChatTransport<UIMessage>({
    api: "/stream",
    fetch: tap.fetch,
    prepareSendMessagesRequest: onlyNewMessages,
  });
  const bidi = new WebSocketChatTransport({ url: "/live", webSocket: tap.webSocket });
  const listeners = new Set<() => void>();
  let mode = initial;
  const current = () => (mode === "bidi" ? bidi : sse);

  return {
    sendMessages: (options) => current().sendMessages(options),
    reconnectToStream: (options) => current().reconnectToStream(options),
    // Tells AI SDK that a resumed stream is replayed from its beginning. Both transports do that.
    ...{ resumeStreamIsReplay: true },
    mode: () => mode,
    choose(next) {
      if (next === mode) return;
      mode = next;
      if (next === "sse") bidi.close();
      for (const listener of listeners) listener();
    },
    connect() {
      if (mode !== "bidi") return;
      // Attaching is enough here. `resumeStream` of the chat reads a running reply, so this stream is cancelled.
      bidi.reconnectToStream({ chatId }).then(
        (stream) => stream?.cancel(),
        () => undefined,
      );
    },
    reconnectNow() {
      if (mode === "bidi") bidi.reconnect();
    },
    get sendResult() {
      if (mode !== "bidi") return undefined;
      return (toolCallId: string, result: unknown) => bidi.sendToolResult({ chatId, toolCallId, result });
    },
    connection: () => (mode === "bidi" ? bidi.getState() : undefined),
    subscribe(listener) {
      listeners.add(listener);
      const unsubscribe = bidi.subscribe(listener);
      return () => {
        listeners.delete(listener);
        unsubscribe();
      };
    },
    close: () => bidi.close(),
  };
}
