import type { UIMessage, UIMessageChunk } from "ai";
import type { ChatRequest, NewChatRequest } from "./chat-request.ts";
import { chunksOf } from "./chunk-stream.ts";
import type { ConnectionState } from "./connection-state.ts";
import { type FollowedChat, followedChat } from "./followed-chat.ts";
import {
  hookedStream,
  type ReconnectOptions,
  type SendOptions,
  type ToolResult,
  type TransportHooks,
} from "./held-transport.ts";
import { newKey } from "./new-key.ts";
import { repeatedSends } from "./repeated-sends.ts";
import type { Watched } from "./watched.ts";
import type { WebSocketChatTransportOptions } from "./websocket-chat-transport.ts";
import { websocketConnection } from "./websocket-connection.ts";

export type LoadedWebSocketTransport = ReturnType<typeof loadedWebSocketTransport>;

/**
 * What a `WebSocketChatTransport` does when its code is here. It follows one chat at a time: a request for another chat
 * leaves the first one. The owner has the hooks.
 */
export function loadedWebSocketTransport(
  options: WebSocketChatTransportOptions,
  owner: { readonly hooks: TransportHooks },
  state: Watched<ConnectionState>,
) {
  const { hold = false, maxKept = 10_000, newId = newKey } = options;
  const checkRepeated = repeatedSends();
  let chat: FollowedChat | undefined;
  /** The chat that was followed when the connection was given up. */
  let given: string | undefined;

  const connection = websocketConnection(options, state, {
    onOpen() {
      for (const frame of chat?.greet() ?? []) connection.send(frame);
    },
    onFrame: (frame) => chat?.take(frame),
    onLost: () => chat?.lost(),
    onGiveUp(error) {
      const id = state.get().status === "closed" ? chat?.id : undefined;
      leave(error);
      given = id;
    },
  });

  function leave(error: Error): void {
    const left = chat;
    chat = given = undefined;
    left?.fail(error);
  }

  function follow(id: string): FollowedChat {
    if (chat?.id === id) return chat;
    const wasFollowing = chat !== undefined;
    // A TypeError about the network: AI SDK then knows that the stream can be resumed.
    leave(new TypeError("The network connection is used for another chat now."));
    chat = followedChat(id, {
      maxKept,
      hold,
      onChunk(chunk) {
        options.onChunk?.(chunk);
        owner.hooks.onArrival?.(chunk);
      },
    });
    // Chunks do not name their chat, so each chat gets a socket of its own.
    if (wasFollowing) connection.replace();
    return chat;
  }

  /** Sends a request now, or when a socket is open. */
  function ask(
    chatId: string,
    message: object | undefined,
    abortSignal: AbortSignal | undefined,
    onSettled?: NewChatRequest["onSettled"],
  ): ChatRequest {
    const asked = follow(chatId);
    const over = new AbortController();
    const request = asked.add({
      requestId: newId(),
      message,
      onSettled(result) {
        if (result !== "begun") over.abort();
        onSettled?.(result);
      },
    });
    const stop = () => {
      const interrupt = asked.abort(request);
      if (interrupt && !connection.send(interrupt)) asked.interruptLater();
    };
    abortSignal?.addEventListener("abort", stop, { signal: over.signal });
    if (connection.isOpen()) connection.send(asked.ask(request));
    else connection.open();
    return request;
  }

  function readable({ stream }: ChatRequest): ReadableStream<UIMessageChunk> {
    return hold ? hookedStream(chunksOf(stream.readable), owner, () => stream.close()) : stream.readable;
  }

  return {
    async sendMessages(wanted: SendOptions<UIMessage>): Promise<ReadableStream<UIMessageChunk>> {
      const { chatId, trigger, messageId, abortSignal } = wanted;
      abortSignal?.throwIfAborted();
      // A copy, because it may be sent again after the page has changed its own.
      const message = JSON.parse(JSON.stringify({ trigger, messageId, messages: unread(wanted) })) as object;
      checkRepeated(message);
      const request = ask(chatId, message, abortSignal);
      owner.hooks.onOpen?.();
      return readable(request);
    },

    async reconnectToStream({
      chatId,
      abortSignal,
    }: ReconnectOptions<UIMessage>): Promise<ReadableStream<UIMessageChunk> | null> {
      abortSignal?.throwIfAborted();
      if (follow(chatId).isRead()) return null;
      return new Promise((resolve, reject) => {
        const request = ask(chatId, undefined, abortSignal, (result) => {
          if (result === "begun") resolve(readable(request));
          else if (result === "nothing") resolve(null);
          else reject(result === "ended" ? new DOMException("The chat request was stopped.", "AbortError") : result);
        });
      });
    },

    async sendToolResult({ chatId, toolCallId, result }: ToolResult): Promise<void> {
      return new Promise((resolve, reject) => {
        const message = { type: "tool_result", toolCallId, result };
        const request = ask(chatId, message, undefined, (outcome) =>
          outcome instanceof Error ? reject(outcome) : resolve(),
        );
        request.stream.close();
      });
    },

    release: () => chat?.release(),

    reconnect(): void {
      if (given !== undefined) follow(given);
      if (chat) connection.open();
    },

    close(): void {
      leave(new Error("The connection of this chat was closed."));
      connection.close();
    },
  };
}

/**
 * The server keeps the history and reads only the last message, or the one that `messageId` names. With the others a
 * frame would grow until it is too large. The message before a new one goes along without its parts: by it the server
 * recognises an edit.
 */
function unread({ messages, messageId, trigger }: SendOptions<UIMessage>): object[] {
  const last = messages.at(-1);
  const read = messages.filter((message) => message === last || (message.id === messageId && messageId !== undefined));
  const before = messages.at(-2);
  if (trigger === "regenerate-message" || last?.role !== "user" || !before || read.length > 1) return read;
  return [{ id: before.id, role: before.role, parts: [] }, last];
}
