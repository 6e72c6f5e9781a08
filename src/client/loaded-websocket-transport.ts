import type { UIMessage, UIMessageChunk } from "ai";
import type { ChatRequest } from "./chat-request.ts";
import { chunksOf } from "./chunk-stream.ts";
import { FollowedChat } from "./followed-chat.ts";
import type { ConnectionState } from "./connection-state.ts";
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
import { WebSocketConnection } from "./websocket-connection.ts";
import type { WebSocketChatTransportOptions } from "./websocket-chat-transport.ts";

/**
 * What a `WebSocketChatTransport` does when its code is here. It follows one chat at a time: a request for another chat
 * leaves the first one.
 */
export class LoadedWebSocketTransport<UI_MESSAGE extends UIMessage = UIMessage> {
  readonly #options: WebSocketChatTransportOptions;
  /** Who has the hooks. */
  readonly #owner: { hooks: TransportHooks };
  readonly #connection: WebSocketConnection;
  readonly #checkRepeated = repeatedSends();
  #chat: FollowedChat | undefined;
  /** The chat that was followed when the connection was given up. */
  #given: string | undefined;

  constructor(
    options: WebSocketChatTransportOptions,
    owner: { hooks: TransportHooks },
    state: Watched<ConnectionState>,
  ) {
    this.#options = options;
    this.#owner = owner;
    this.#connection = new WebSocketConnection(options, state, {
      onOpen: () => {
        for (const frame of this.#chat?.greet() ?? []) this.#connection.send(frame);
      },
      onFrame: (frame) => {
        if (frame.type !== "pong") this.#chat?.take(frame);
      },
      onLost: () => this.#chat?.lost(),
      onGiveUp: (error) => {
        const id = state.get().status === "closed" ? this.#chat?.id : undefined;
        this.#leave(error);
        this.#given = id;
      },
    });
  }

  /** Sends the new message and returns the stream of the turn it causes, also before there is a connection. */
  async sendMessages(options: SendOptions<UI_MESSAGE>): Promise<ReadableStream<UIMessageChunk>> {
    const { chatId, abortSignal, trigger, messageId } = options;
    abortSignal?.throwIfAborted();
    // A copy, because it may be sent again after the page has changed its own.
    const message = JSON.parse(JSON.stringify({ trigger, messageId, messages: unread(options) })) as object;
    const chat = this.#follow(chatId);
    const ignore = new AbortController();
    const request = chat.add({
      requestId: this.#newId(),
      message,
      onSettled: (result) => {
        if (result !== "begun") ignore.abort();
      },
    });
    this.#checkRepeated(message);
    this.#ask(chat, request, { abortSignal, ignore: ignore.signal });
    this.#owner.hooks.onOpen?.();
    return this.#readable(request);
  }

  /**
   * The turn that is running, from its beginning; null when no turn is running, or when a stream of this transport shows
   * it. If no turn is running, kept turns are dropped too, because the page reads the chat's messages then.
   */
  async reconnectToStream(options: ReconnectOptions<UI_MESSAGE>): Promise<ReadableStream<UIMessageChunk> | null> {
    const { chatId, abortSignal } = options;
    abortSignal?.throwIfAborted();
    const chat = this.#follow(chatId);
    if (chat.isRead) return null;
    return new Promise((resolve, reject) => {
      const ignore = new AbortController();
      const request = chat.add({
        requestId: this.#newId(),
        onSettled: (result) => {
          if (result === "begun") resolve(this.#readable(request));
          else ignore.abort();
          if (result === "nothing") resolve(null);
          else if (result === "ended") reject(new DOMException("The chat request was stopped.", "AbortError"));
          else if (result !== "begun") reject(result);
        },
      });
      this.#ask(chat, request, { abortSignal, ignore: ignore.signal });
    });
  }

  /**
   * Sends a browser tool's result outside a chat request. AI SDK sends results with the last message only, so this is the
   * way for a call in an older message. Resolves when the server has accepted it; the model's response is a turn that no
   * request asked for.
   */
  async sendToolResult({ chatId, toolCallId, result }: ToolResult): Promise<void> {
    const chat = this.#follow(chatId);
    return new Promise((resolve, reject) => {
      const request = chat.add({
        requestId: this.#newId(),
        message: { type: "tool_result", toolCallId, result },
        onSettled: (outcome) => (outcome instanceof Error ? reject(outcome) : resolve()),
      });
      request.stream.close();
      this.#ask(chat, request, { abortSignal: undefined, ignore: new AbortController().signal });
    });
  }

  /** Ends the streams of the chat for the page alone: the reply goes on at the server. */
  release(): void {
    this.#chat?.release();
  }

  /** Connects now, without waiting for the next attempt that is due. */
  reconnect(): void {
    if (this.#given !== undefined) this.#follow(this.#given);
    if (this.#chat) this.#connection.open();
  }

  /** Leaves the chat and ends open streams with an error. The next request opens a new connection. */
  close(): void {
    this.#leave(new Error("The connection of this chat was closed."));
    this.#connection.close();
  }

  #ask(
    chat: FollowedChat,
    request: ChatRequest,
    { abortSignal, ignore }: { abortSignal: AbortSignal | undefined; ignore: AbortSignal },
  ): void {
    abortSignal?.addEventListener(
      "abort",
      () => {
        const interrupt = chat.abort(request);
        if (interrupt && !this.#connection.send(interrupt)) chat.interruptLater();
      },
      { once: true, signal: ignore },
    );
    if (this.#connection.isOpen) this.#connection.send(chat.ask(request));
    else this.#connection.open();
  }

  #readable({ stream }: ChatRequest): ReadableStream<UIMessageChunk> {
    return this.#options.hold ? hookedStream(chunksOf(stream.readable), this.#owner) : stream.readable;
  }

  #follow(chatId: string): FollowedChat {
    if (this.#chat?.id === chatId) return this.#chat;
    const wasFollowing = this.#chat !== undefined;
    // A TypeError about the network: AI SDK then knows that the stream can be resumed.
    this.#leave(new TypeError("The network connection is used for another chat now."));
    const { maxKept = 10_000, hold = false } = this.#options;
    const onChunk = (chunk: UIMessageChunk) => {
      this.#options.onChunk?.(chunk);
      this.#owner.hooks.onArrival?.(chunk);
    };
    this.#chat = new FollowedChat(chatId, { maxKept, onChunk, hold });
    // Chunks do not name their chat, so each chat gets a socket of its own.
    if (wasFollowing) this.#connection.replace();
    return this.#chat;
  }

  #leave(error: Error): void {
    const chat = this.#chat;
    this.#chat = this.#given = undefined;
    chat?.fail(error);
  }

  #newId(): string {
    return (this.#options.newId ?? newKey)();
  }
}

/**
 * The server keeps the history and reads only the last message, or the one that `messageId` names. With the others a
 * frame would grow until it is too large. The message before a new one goes along without its parts: by it the server
 * recognises an edit.
 */
function unread({
  messages,
  messageId,
  trigger,
}: Pick<SendOptions<UIMessage>, "messages" | "messageId" | "trigger">): object[] {
  const read = messages.filter(
    ({ id }, index) => index === messages.length - 1 || (id === messageId && id !== undefined),
  );
  const [last, before] = [messages.at(-1), messages.at(-2)];
  if (trigger === "regenerate-message" || last?.role !== "user" || !before || read.length > 1) return read;
  return [{ id: before.id, role: before.role, parts: [] }, last];
}
