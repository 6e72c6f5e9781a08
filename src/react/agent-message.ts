import type { UIMessage } from "ai";
import type { ApprovalData } from "../protocol/approval.ts";
import type { ToolTypesOf } from "../protocol/tool-types.ts";

/** The metadata of a reply. */
export interface AgentMetadata {
  /** The sum over all turns of the message. */
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

/** The data parts of a reply: `data-approval`. */
export type AgentData = { approval: ApprovalData };

/** The messages of a chat with this agent: `AgentMessage<typeof agent>`. */
export type AgentMessage<Agent> = UIMessage<AgentMetadata, AgentData, ToolTypesOf<Agent>>;
