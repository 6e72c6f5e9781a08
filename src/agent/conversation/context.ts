import type { BaseAgent } from "@google/adk";
import type { Session, Store } from "../../stores/index.ts";
import type { UIMessage } from "ai";
import type { GatePlugin } from "../adk/gate-plugin.ts";
import { messageEvent, storesMessage } from "../adk/new-events.ts";
import type { Runners } from "../adk/runners.ts";
import type { StoreSessionService } from "../adk/session-service.ts";
import type { Executor } from "../approval/executor.ts";
import type { ChatFiles } from "../files/index.ts";
import type { Logger } from "../support/index.ts";
import type { ModelCalls } from "./model-calls.ts";

/** What every conversation needs. */
export interface ConversationContext {
  agent: BaseAgent;
  store: Store;
  sessions: StoreSessionService;
  runners: Runners;
  gate: GatePlugin;
  executor: Executor;
  files: ChatFiles;
  logger: Logger;
  /** How often one turn may ask the model; live, how often the model may call tools. */
  maxLlmCalls: number;
  /** Counts the calls to the model. */
  modelCalls: ModelCalls;
  limits: { liveConnections: number; liveConnectionsPerOwner: number };
  /** False when another node may have taken the chat. */
  hasChat: (chatId: string) => boolean;
  /** How long this node has a chat unless it renews the lease. */
  leaseMs: number;
  /** How long new text waits for a tool that is still running. */
  graceMs: number;
}

/** Stores a user's message in the history unless it is there. */
export async function storeMessage(
  message: UIMessage,
  chat: Session,
  { sessions }: ConversationContext,
): Promise<void> {
  const session = await sessions.load(chat);
  if (!session.events.some((event) => storesMessage(event, message)))
    await sessions.appendEvent({ session, event: messageEvent(message) });
}
