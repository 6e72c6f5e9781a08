import type { UIMessage, UIMessageChunk } from "ai";
import type { ConnectionState } from "./connection-state.ts";
import type { HeldTransport, ReconnectOptions, SendOptions, ToolResult, TransportHooks } from "./held-transport.ts";
import { onlyNewMessages } from "./only-new-messages.ts";
import { repeatedSends } from "./repeated-sends.ts";
import { chatPath, serverRequests, type ServerRequests } from "./server-requests.ts";
import type { SseChatTransportOptions } from "./sse-chat-transport-options.ts";
import { type SseStream, sseStream } from "./sse-stream.ts";
import { watched } from "./watched.ts";

/**
 * A chat over HTTP with streams that stay open while a call waits (`hold` in PROTOCOL.md §1). The answer goes beside the
 * stream, so a whole approval takes one request. A stream that was cut goes on after the last event that came, without a
 * lost or repeated chunk.
 */
export class SseChatTransport<UI_MESSAGE extends UIMessage = UIMessage> implements HeldTransport<UI_MESSAGE> {
  readonly resumeStreamIsReplay = true;
  readonly resumesPaused = true;
  hooks: TransportHooks = {};
  readonly #state = watched<ConnectionState>({ status: "idle" });
  readonly #options: SseChatTransportOptions;
  readonly #server: ServerRequests;
  readonly #checkRepeated = repeatedSends();
  readonly #streams = new Set<SseStream>();

  constructor(options: SseChatTransportOptions = {}) {
    this.#options = options;
    this.#server = serverRequests(options);
  }

  getState = this.#state.get;

  subscribe = this.#state.subscribe;

  async sendMessages(options: SendOptions<UI_MESSAGE>): Promise<ReadableStream<UIMessageChunk>> {
    const { chatId, messages, trigger, messageId, headers } = options;
    const { body } = onlyNewMessages({ ...options, id: chatId });
    this.#checkRepeated(body);
    const last = messages.at(-1);
    const isNew = last?.role === "user" && trigger === "submit-message" && !messageId;
    const sent = this.#open(options).send({ body: { ...body, hold: true }, headers }, isNew ? last.id : undefined);
    return sent as Promise<ReadableStream<UIMessageChunk>>;
  }

  async reconnectToStream(options: ReconnectOptions<UI_MESSAGE>): Promise<ReadableStream<UIMessageChunk> | null> {
    return this.#open(options).resume();
  }

  async sendToolResult({ chatId, toolCallId, result }: ToolResult): Promise<void> {
    const { error } = Object(result) as { error?: unknown };
    const isError = typeof error === "string" && Object.keys(Object(result)).length === 1;
    const body = { toolCallId, ...(isError ? { error: error.slice(0, 4000) } : { result: result ?? null }) };
    await this.#server.read(`${chatPath(chatId)}/results`, { body });
  }

  release(): void {
    for (const stream of this.#streams) stream.release();
  }

  reconnect(): void {
    for (const stream of this.#streams) stream.cut();
  }

  close(): void {
    for (const stream of this.#streams) stream.close();
  }

  #open({ chatId, abortSignal }: ReconnectOptions<UI_MESSAGE>): SseStream {
    abortSignal?.throwIfAborted();
    const stream = sseStream(chatId, this.#options, this.#server, this, this.#state.set);
    const { left, stop } = stream;
    abortSignal?.addEventListener("abort", stop, { signal: left });
    this.#streams.add(stream);
    left.addEventListener("abort", () => void this.#streams.delete(stream));
    return stream;
  }
}
