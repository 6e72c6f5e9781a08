import { useChat, type UseChatHelpers } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import type { ConnectionState } from "../client/index.ts";
import { AgentChat, type AgentChatOptions } from "./agent-chat.ts";
import type { AgentMessage } from "./agent-message.ts";
import { holdBack } from "./hold-back.ts";

/** What `useChat` returns, and what an agent's chat has in addition. */
export interface AgentChatHelpers<UI_MESSAGE extends UIMessage = UIMessage> extends UseChatHelpers<UI_MESSAGE> {
  /** For `useChat({ chat })`, `useClientTools` and code outside React. */
  chat: AgentChat<UI_MESSAGE>;
  approvals: AgentChat<UI_MESSAGE>["approvals"];
  /** The state of the connection to the server. */
  connection: ConnectionState;
  /** False until the chat's messages have been read. */
  isLoaded: boolean;
  /** Why the page does not have what the server has. `approvals.refresh()` tries again. */
  problem: string | undefined;
  /** True if the chat has older messages than `messages`. */
  hasOlder: boolean;
  /** Reads older messages: as many as a page has, or `limit`. */
  loadOlder: (limit?: number) => Promise<boolean>;
  /** The ids of messages that could not be sent, and of those of which an edit could not be sent. They are in `messages`. */
  unsent: readonly string[];
  /** Sends such a message again: an edit in its place, a new message as the last one. */
  resend: (messageId: string) => Promise<void>;
  /** Removes such a message. Of an edit the message comes back as the server has it. */
  discard: (messageId: string) => void;
}

/**
 * A chat with an agent: reads its messages, follows the server, and has approvals that are answered beside the open stream.
 * `useAgentChat<typeof agent>` knows the tools of the agent (`defineAgent`). Another `id`, `transport`, `api`, `url` or
 * `actor` is another chat; all other options are read once.
 */
export function useAgentChat<Agent = unknown>(
  options: AgentChatOptions<AgentMessage<Agent>>,
): AgentChatHelpers<AgentMessage<Agent>> {
  const { id, transport, api, url, actor } = options;
  const address = typeof url === "function" ? undefined : url?.toString();
  // oxlint-disable-next-line react/exhaustive-deps -- callbacks are often new at each render
  const chat = useMemo(() => new AgentChat<AgentMessage<Agent>>(options), [id, transport, api, address, actor]);
  const { approvals, connection } = chat;
  useEffect(() => {
    approvals.open();
    return () => approvals.close();
  }, [approvals]);
  const helpers = useChat<AgentMessage<Agent>>({ chat });
  const version = useSyncExternalStore(
    approvals.subscribe,
    () => approvals.version,
    () => 0,
  );
  const state = useSyncExternalStore(connection.subscribe, connection.getState, connection.getState);
  const { messages: received } = helpers;
  const { messages: held, isReplaying } = chat.replayed;
  const messages = useMemo(() => holdBack(held, received, isReplaying), [held, received, isReplaying]);
  const { isLoaded, hasOlder, problem, unsent } = approvals.sync;
  // oxlint-disable-next-line react/exhaustive-deps -- a new object whenever something of it has changed
  const current = useMemo(() => ({ ...approvals }), [approvals, version, received]);
  return {
    ...helpers,
    messages,
    chat,
    approvals: current,
    connection: state,
    isLoaded,
    problem,
    hasOlder,
    loadOlder: approvals.loadOlder,
    unsent,
    resend: approvals.resend,
    discard: approvals.discard,
  };
}
