import type { UIMessage } from "ai";
import type { AgentChat } from "./agent-chat.ts";

const maxAttempts = 8;
const firstDelayMs = 100;

/**
 * Sends the result of a browser call until the server has taken it or refused it. The server may not have recorded the call
 * when its chunk is here, so `not_found` is tried again too.
 */
export async function deliverResult<UI_MESSAGE extends UIMessage>(
  chat: Pick<AgentChat<UI_MESSAGE>, "id" | "connection" | "approvals">,
  { toolCallId, result }: { toolCallId: string; result: unknown },
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 0; attempt < maxAttempts && !signal.aborted; attempt += 1) {
    try {
      await chat.connection.sendToolResult({ chatId: chat.id, toolCallId, result });
      break;
    } catch (error) {
      const { code } = error as { code?: string };
      if (code === "conflict" || code === "invalid" || code === "too_large") break;
      await new Promise((resolve) => setTimeout(resolve, firstDelayMs * 2 ** attempt));
    }
  }
  if (!signal.aborted) await chat.approvals.refresh();
}
