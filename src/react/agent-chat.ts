import { Chat } from "@ai-sdk/react";
import type { ChatInit, UIMessage } from "ai";
import {
  attachApprovals,
  type AttachedApprovals,
  type AttachOptions,
  type HeldTransport,
  type LiveSocketOptions,
  SseChatTransport,
  WebSocketChatTransport,
} from "../client/index.ts";

type Callbacks<UI_MESSAGE extends UIMessage> = Pick<
  ChatInit<UI_MESSAGE>,
  "generateId" | "onData" | "onError" | "onFinish" | "messageMetadataSchema" | "dataPartSchemas"
>;

/** Which chat to open, and how. Only `id` is required. */
export interface AgentChatOptions<UI_MESSAGE extends UIMessage = UIMessage>
  extends Callbacks<UI_MESSAGE>, Omit<AttachOptions<UI_MESSAGE>, "transport"> {
  /** The id of the chat at the server. A chat that the server does not know begins with its first message. */
  id: string;
  /** `sse`: HTTP requests. `websocket`: one socket, over which people can go on writing while a question is open. Default `sse`. */
  transport?: "sse" | "websocket" | HeldTransport<UI_MESSAGE>;
  /** The server's `/live`, for `websocket`. Default: below `api`. */
  url?: LiveSocketOptions["url"];
  /** Makes the socket. Default: the global `WebSocket`. */
  webSocket?: LiveSocketOptions["webSocket"];
}

/**
 * AI SDK's chat for React, with acknowledged answers and a transport that keeps its stream open while a question waits.
 * For `useChat({ chat })`; `useAgentChat` makes one.
 */
export class AgentChat<UI_MESSAGE extends UIMessage = UIMessage> extends Chat<UI_MESSAGE> {
  readonly approvals: AttachedApprovals;
  readonly connection: HeldTransport<UI_MESSAGE>;
  /** The messages before the last resumed stream, which replays its message from the start. */
  replayed: { messages: UI_MESSAGE[]; isReplaying: boolean } = { messages: [], isReplaying: false };

  constructor(options: AgentChatOptions<UI_MESSAGE>) {
    const connection = toTransport(options);
    super({ ...options, transport: connection });
    this.connection = connection;
    this.approvals = attachApprovals<UI_MESSAGE>(this, { ...options, transport: connection });
    const { resumeStream } = this;
    this.resumeStream = async (...given) => {
      const replayed = { messages: this.messages, isReplaying: true };
      this.replayed = replayed;
      await resumeStream(...given).finally(() => (replayed.isReplaying = false));
    };
  }
}

function toTransport<UI_MESSAGE extends UIMessage>({
  transport = "sse",
  url,
  ...options
}: AgentChatOptions<UI_MESSAGE>): HeldTransport<UI_MESSAGE> {
  if (typeof transport === "object") return transport;
  if (transport === "sse") return new SseChatTransport<UI_MESSAGE>(options);
  const address = url ?? `${(options.api ?? "").replace(/\/$/, "")}/live`;
  return new WebSocketChatTransport<UI_MESSAGE>({ ...options, url: address, hold: true });
}
