import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import type { ConnectionState } from "./connection-state.ts";

/**
 * What {@link attachApprovals} needs of a transport, beside AI SDK's interface: its streams stay open while a call waits,
 * and the page can see and change what the chat reads.
 */
export interface HeldTransport<UI_MESSAGE extends UIMessage = UIMessage> extends ChatTransport<UI_MESSAGE> {
  /** Set by `attachApprovals`. */
  hooks: TransportHooks;
  /** True if `reconnectToStream` also goes on with a reply that waits for an answer. */
  readonly resumesPaused: boolean;
  /** Sends a browser tool's result beside the stream. Resolves when the server has accepted it. */
  sendToolResult(result: ToolResult): Promise<void>;
  /**
   * Ends the streams of the chat for the page alone: the reply goes on at the server. The stream of a message that is on its
   * way ends when the server has the message.
   */
  release(): void;
  /** Connects now, without waiting for the next attempt that is due. */
  reconnect(): void;
  /** The state of the connection; with `subscribe` for `useSyncExternalStore`. */
  getState(): ConnectionState;
  subscribe(listener: () => void): () => void;
  close(): void;
}

/** What AI SDK gives a transport to send. */
export type SendOptions<UI_MESSAGE extends UIMessage> = Parameters<ChatTransport<UI_MESSAGE>["sendMessages"]>[0];

/** What AI SDK gives a transport to resume a reply. */
export type ReconnectOptions<UI_MESSAGE extends UIMessage> = Parameters<
  ChatTransport<UI_MESSAGE>["reconnectToStream"]
>[0];

/** The result of a tool that ran in the browser. */
export interface ToolResult {
  /** The chat that the call belongs to. */
  chatId: string;
  /** The id of the call's part. */
  toolCallId: string;
  /** What the tool returned, or `{ error: "why" }` if it failed. */
  result: unknown;
}

/** What `attachApprovals` is told by a transport, and what it may change. */
export interface TransportHooks {
  /** A request begins, of which the chat will read the stream. */
  onOpen?: () => void;
  /** Called with each chunk before the chat gets it. Yields the chunks that the chat gets instead, one after the other. */
  onChunk?: (chunk: UIMessageChunk) => AsyncIterable<UIMessageChunk>;
  /** Called with each chunk as it arrives, also with those that no stream of this page has. */
  onArrival?: (chunk: UIMessageChunk) => void;
  /** A stream has ended, failed or been left. */
  onEnd?: () => void;
}

/** A stream has ended. The chat becomes idle, or shows the error, a moment after it. */
export function tellEnd(transport: { hooks: TransportHooks }): void {
  setTimeout(() => transport.hooks.onEnd?.());
}

/**
 * A stream that asks for a chunk only when the chat has handled the one before it. So what `onChunk` does to the chat's
 * messages happens between two chunks.
 */
export function hookedStream(
  chunks: AsyncGenerator<UIMessageChunk>,
  transport: { hooks: TransportHooks },
  onEnd?: () => void,
): ReadableStream<UIMessageChunk> {
  async function* throughHook() {
    try {
      for await (const chunk of chunks) {
        const { onChunk } = transport.hooks;
        if (onChunk) yield* onChunk(chunk);
        else yield chunk;
      }
    } finally {
      onEnd?.();
      tellEnd(transport);
    }
  }
  const hooked = throughHook();
  return new ReadableStream<UIMessageChunk>(
    {
      async pull(controller) {
        const { done, value } = await hooked.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        // It may be waiting for the next chunk.
        onEnd?.();
        await hooked.return();
      },
    },
    { highWaterMark: 0 },
  );
}
