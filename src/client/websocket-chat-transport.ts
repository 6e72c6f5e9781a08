import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import { type ChatRequest, FollowedChat } from "./followed-chat.ts";
import { type ConnectionState, LiveSocket, type LiveSocketOptions } from "./live-socket.ts";

export interface WebSocketChatTransportOptions extends LiveSocketOptions {
  /** Sees every chunk of the chat as it comes, also of turns nobody asked for. */
  onChunk?: (chunk: UIMessageChunk) => void;
  /** How many chunks are kept for somebody to ask for them. Default 10,000. */
  maxKept?: number;
  /** Names of requests; the server may see one twice, so they must be unique. */
  newId?: () => string;
}

export interface ToolResult {
  chatId: string;
  toolCallId: string;
  /** What the tool returned, or `{ error: "why" }` where it failed. */
  result: unknown;
}

type SendOptions<UI_MESSAGE extends UIMessage> = Parameters<ChatTransport<UI_MESSAGE>["sendMessages"]>[0];
type ReconnectOptions<UI_MESSAGE extends UIMessage> = Parameters<ChatTransport<UI_MESSAGE>["reconnectToStream"]>[0];

/**
 * Stock `useChat`, of AI SDK 6 and 7, over one WebSocket. A reply's stream closes where the server parks at a question, so
 * that the chat sends the answer by itself; the answer's stream goes on with the same message. A lost socket is replaced
 * under the open streams, which neither lose nor repeat a chunk.
 *
 * One chat at a time: asking for another one leaves the first.
 */
export class WebSocketChatTransport<UI_MESSAGE extends UIMessage = UIMessage> implements ChatTransport<UI_MESSAGE> {
  /** What is resumed comes from its beginning. */
  readonly resumeStreamIsReplay = true;
  readonly #options: WebSocketChatTransportOptions;
  readonly #socket: LiveSocket;
  #chat: FollowedChat | undefined;

  constructor(options: WebSocketChatTransportOptions) {
    this.#options = options;
    this.#socket = new LiveSocket(options, {
      onOpen: () => {
        for (const frame of this.#chat?.greet() ?? []) this.#socket.send(frame);
      },
      onFrame: (frame) => {
        if (frame.type !== "pong") this.#chat?.take(frame);
      },
      onLost: () => this.#chat?.lost(),
      onGiveUp: (error) => this.#leave(error),
    });
  }

  /** The connection as a person would want to see it; with `subscribe`, for `useSyncExternalStore`. */
  getState = (): ConnectionState => this.#socket.getState();

  subscribe = (listener: () => void): (() => void) => this.#socket.subscribe(listener);

  /** Sends what is new and returns the stream of the turn it causes. It waits for a connection inside the stream. */
  async sendMessages(options: SendOptions<UI_MESSAGE>): Promise<ReadableStream<UIMessageChunk>> {
    const { chatId, abortSignal, trigger, messageId } = options;
    if (abortSignal?.aborted) throw abortError();
    // A copy, since it may be sent again when the page's own has changed.
    const message = JSON.parse(
      JSON.stringify({ trigger, messageId, messages: unread(options.messages, messageId) }),
    ) as object;
    const chat = this.#follow(chatId);
    const ignore = new AbortController();
    const request = chat.add({
      requestId: this.#newId(),
      message,
      onSettled: (result) => {
        if (result !== "begun") ignore.abort();
      },
    });
    this.#ask(chat, request, { abortSignal, ignore: ignore.signal });
    return request.stream.readable;
  }

  /**
   * What is being generated, from its beginning; null when nothing is, or when a stream of this transport shows it. Null
   * also ends the keeping of turns nobody asked for: the page reads the chat's messages then.
   */
  async reconnectToStream(options: ReconnectOptions<UI_MESSAGE>): Promise<ReadableStream<UIMessageChunk> | null> {
    const { chatId, abortSignal } = options;
    if (abortSignal?.aborted) throw abortError();
    const chat = this.#follow(chatId);
    if (chat.isRead) return null;
    return new Promise((resolve, reject) => {
      const ignore = new AbortController();
      const request = chat.add({
        requestId: this.#newId(),
        onSettled: (result) => {
          if (result === "begun") resolve(request.stream.readable);
          else ignore.abort();
          if (result === "nothing") resolve(null);
          else if (result === "ended") reject(abortError());
          else if (result !== "begun") reject(result);
        },
      });
      this.#ask(chat, request, { abortSignal, ignore: ignore.signal });
    });
  }

  /**
   * A browser tool's result outside a chat request: AI SDK names the last message in a request that it is not asked to
   * make, so this is the way for a call in an older one. Resolves when the server has it; what the model says of it is a
   * turn that nobody asked for.
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

  /** Tries again now, where the next attempt would be a while off: somebody knows that the server is there. */
  reconnect(): void {
    if (this.#chat) this.#socket.open();
  }

  /** Leaves the chat and ends open streams with an error. Whatever is asked next opens a new connection. */
  close(): void {
    this.#leave(new Error("The connection of this chat was closed."));
    this.#socket.close();
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
        if (interrupt && !this.#socket.send(interrupt)) chat.interruptLater();
      },
      { once: true, signal: ignore },
    );
    if (this.#socket.isOpen) this.#socket.send(chat.ask(request));
    else this.#socket.open();
  }

  #follow(chatId: string): FollowedChat {
    if (this.#chat?.id === chatId) return this.#chat;
    const wasFollowing = this.#chat !== undefined;
    this.#leave(new TypeError("The network connection is used for another chat now."));
    const { maxKept = 10_000, onChunk } = this.#options;
    this.#chat = new FollowedChat(chatId, { maxKept, onChunk });
    // Chunks do not say which chat they are of. On a socket of its own there is no doubt.
    if (wasFollowing) this.#socket.replace();
    return this.#chat;
  }

  #leave(error: Error): void {
    const chat = this.#chat;
    this.#chat = undefined;
    chat?.fail(error);
  }

  #newId(): string {
    if (this.#options.newId) return this.#options.newId();
    // Unlike `randomUUID` this is there on a page without TLS too.
    return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join(
      "",
    );
  }
}

/**
 * The server keeps the history and reads the last message, or the one that `messageId` names. The rest would only grow,
 * until a frame is too large.
 */
function unread<UI_MESSAGE extends UIMessage>(
  messages: readonly UI_MESSAGE[],
  messageId: string | undefined,
): UI_MESSAGE[] {
  return messages.filter(({ id }, index) => index === messages.length - 1 || (id === messageId && id !== undefined));
}

function abortError(): DOMException {
  return new DOMException("The chat request was stopped.", "AbortError");
}
