import type { UIMessage } from "ai";

/** The metadata of a reply. */
export interface AgentMetadata {
  usage?: {
    inputTokens: number;
    outputTokens: number;
    totalTokens: number;
    reasoningTokens: number;
    cachedInputTokens: number;
  };
  modelVersion?: string;
  /** The id of the chat, if the request named none. */
  chatId?: string;
}

/** The messages of a chat with this agent. */
export type AgentMessage<Agent> = unknown extends Agent ? UIMessage : UIMessage<AgentMetadata>;
