import type { UIMessage } from "ai";
import type { AgentChat } from "./agent-chat.ts";

const maxAttempts = 8;
const firstDelayMs = 100;

/**
 * Sends the result of a browser call until the server has taken it or refused it. The server may not have recorded the call
 * when its chunk is here, so `not_found` is tried again too. A result that cannot be sent is reported as a failure:
 * otherwise the call would wait for ever, and the tool would run again whenever the page is loaded. Returns true if the
 * server has a result for the call now.
 */
export async function deliverResult<UI_MESSAGE extends UIMessage>(
  chat: Pick<AgentChat<UI_MESSAGE>, "id" | "connection" | "approvals">,
  call: { toolCallId: string; result: unknown },
  signal: AbortSignal,
): Promise<boolean> {
  const isDelivered = await send(chat, call, signal);
  if (!signal.aborted) await chat.approvals.refresh();
  return isDelivered;
}

async function send<UI_MESSAGE extends UIMessage>(
  chat: Pick<AgentChat<UI_MESSAGE>, "id" | "connection">,
  { toolCallId, result }: { toolCallId: string; result: unknown },
  signal: AbortSignal,
): Promise<boolean> {
  let sent = toJson(result);
  for (let attempt = 0; attempt < maxAttempts && !signal.aborted; attempt += 1) {
    try {
      await chat.connection.sendToolResult({ chatId: chat.id, toolCallId, result: sent });
      return true;
    } catch (error) {
      const { code, message } = error as Error & { code?: string };
      const isRefused = code === "invalid" || code === "too_large";
      if (code === "conflict") return true;
      if (isRefused && sent !== result) return false;
      if (isRefused) sent = refused(message);
      else await new Promise((resolve) => setTimeout(resolve, firstDelayMs * 2 ** attempt));
    }
  }
  return false;
}

/** The result, if JSON can have it. */
function toJson(result: unknown): unknown {
  try {
    return JSON.stringify(result) ? result : null;
  } catch (error) {
    return refused((error as Error).message);
  }
}

function refused(why: string): { error: string } {
  return { error: `The tool ran, but its result was refused. ${why}` };
}
