import { type ConnectionState, WebSocketChatTransport } from "adk-stream-protocol/client";
import { type ChatTransport, DefaultChatTransport, type UIMessage } from "ai";
import type { Mode } from "./mode.ts";
import type { StreamTap } from "./stream-tap.ts";

/**
 * The transport of a chat in whichever mode is chosen now. The chat has one transport for its whole life and does not
 * know of modes, so changing it changes nothing else: not the messages, not the cards, not the draft.
 */
export interface Wires extends ChatTransport<UIMessage> {
  mode(): Mode;
  /** From the next request on. The socket is opened or closed at once, so that the page shows what it has. */
  choose(mode: Mode): void;
  /** Opens the socket in BIDI, where the server also tells what nobody asked for. Nothing to do in SSE. */
  connect(): void;
  /** Tries at once to reach a server that is known to be there. */
  hurry(): void;
  /** A browser tool's result for a call in an older message; undefined where only a chat request can bring it. */
  sendResult: ((toolCallId: string, result: unknown) => Promise<void>) | undefined;
  /** How the socket is; undefined where there is none. */
  connection(): ConnectionState | undefined;
  subscribe(listener: () => void): () => void;
  /** The chat is left. */
  close(): void;
}

export function createWires(chatId: string, { tap, mode: initial }: { tap: StreamTap; mode: Mode }): Wires {
  const sse = new DefaultChatTransport<UIMessage>({ api: "/stream", fetch: tap.fetch });
  const bidi = new WebSocketChatTransport({ url: "/live", webSocket: tap.webSocket });
  const listeners = new Set<() => void>();
  let mode = initial;
  const current = () => (mode === "bidi" ? bidi : sse);

  return {
    sendMessages: (options) => current().sendMessages(options),
    reconnectToStream: (options) => current().reconnectToStream(options),
    // AI SDK asks for this to know that a resumed stream begins at the beginning. Both do.
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
      // Being attached is enough. What is running is read by whoever asks for it, so this stream is not.
      bidi.reconnectToStream({ chatId }).then(
        (stream) => stream?.cancel(),
        () => undefined,
      );
    },
    hurry() {
      if (mode === "bidi") bidi.reconnect();
    },
    get sendResult() {
      if (mode !== "bidi") return undefined;
      return (toolCallId: string, result: unknown) => bidi.sendToolResult({ chatId, toolCallId, result });
    },
    connection: () => (mode === "bidi" ? bidi.getState() : undefined),
    subscribe(listener) {
      listeners.add(listener);
      const leave = bidi.subscribe(listener);
      return () => {
        listeners.delete(listener);
        leave();
      };
    },
    close: () => bidi.close(),
  };
}
