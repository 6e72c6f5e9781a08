import { AsyncQueue, type BaseLlmConnection, type Gemini, type LlmRequest } from "@google/adk";
import type { Content, LiveConnectConfig, Part } from "@google/genai";
import { readInputs } from "../call-input.ts";
import { addMissingTools } from "../missing-tool.ts";
import { isHandover } from "./handover.ts";
import { type Arrived, LiveCalls, liveMessage, liveResponses } from "./live-messages.ts";
import { notice } from "./notices.ts";
import { openLive } from "./open-live.ts";

/**
 * A connection to Gemini Live that replaces ADK's own. ADK's hangs when the key is refused or the server does not answer,
 * does not report that the server closed, delays tool calls for some models, and loses interruptions and cancellations.
 * This one reports all of them and gives every call a unique id.
 *
 * `open-live.ts` opens it, `live-messages.ts` reads its messages, and `notices.ts` holds what ADK has no response for.
 */
export interface LiveConnectionOptions {
  model: string;
  /** How long connecting may take. */
  connectMs: number;
}

export async function connectLive(
  gemini: Gemini,
  request: LlmRequest,
  { model, connectMs }: LiveConnectionOptions,
): Promise<BaseLlmConnection> {
  const messages = new AsyncQueue<Arrived>();
  const calls = new LiveCalls();
  let closing = false;
  const session = await openLive(gemini, {
    model,
    connectMs,
    config: toConfig(request),
    onmessage: (message) => {
      liveMessage.parse(message);
      messages.push(calls.take(message));
    },
    onend: (error) => {
      if (closing || !error) messages.close();
      else messages.fail(error);
    },
  });
  return {
    async sendHistory(history) {
      const turns = history.map(toText).filter(({ parts }) => parts?.length);
      if (turns.length > 0) session.sendClientContent({ turns, turnComplete: false });
    },
    async sendContent(content) {
      const parts = content.parts ?? [];
      const functionResponses = parts.flatMap(({ functionResponse }) =>
        functionResponse ? [calls.respond(functionResponse)] : [],
      );
      // ADK is about to open the other agent's connection; a response on this one would make this agent speak once more.
      if (isHandover(content)) return;
      const texts = parts.flatMap((part) => part.text ?? []);
      const files = parts.filter((part) => part.inlineData ?? part.fileData);
      if (functionResponses.length > 0) session.sendToolResponse({ functionResponses });
      // No content, only "your turn": a sub-agent takes over an existing conversation.
      else if (parts.length === 0) session.sendClientContent({ turnComplete: true });
      else if (takesRealtimeText(model)) {
        if (files.length > 0)
          session.sendClientContent({ turns: [{ role: "user", parts: files }], turnComplete: false });
        session.sendRealtimeInput({ text: texts.join("\n") || "See the file." });
      } else session.sendClientContent({ turns: [content], turnComplete: true });
    },
    async sendRealtime(blob) {
      const kind = blob.mimeType?.split("/")[0];
      session.sendRealtimeInput({ [kind === "audio" ? "audio" : kind === "video" ? "video" : "media"]: blob });
    },
    async close() {
      closing = true;
      session.close();
      messages.close();
    },
    async *receive() {
      yield notice({ connected: true });
      const read = liveResponses(model);
      for await (const arrived of messages) {
        addMissingTools(arrived.calls, request.toolsDict);
        readInputs(arrived.calls, request.toolsDict);
        // Not `yield*`: it would wait three times for each response.
        for (const response of read(arrived)) yield response;
      }
    },
  };
}

/** These models take new text as realtime input and accept turns only as history. */
function takesRealtimeText(model: string): boolean {
  return /^gemini-[3-9]\..*-flash-live/.test(model);
}

function toConfig({ liveConnectConfig, config }: LlmRequest): LiveConnectConfig {
  const { systemInstruction, tools } = config ?? {};
  return {
    ...liveConnectConfig,
    ...(typeof systemInstruction === "string" && {
      systemInstruction: { role: "system", parts: [{ text: systemInstruction }] },
    }),
    ...(tools && { tools }),
  };
}

/** Gemini Live accepts no calls and responses as history, so they are sent as text. */
function toText({ role, parts = [] }: Content): Content {
  const texts = parts.flatMap((part): Part[] => {
    const { functionCall, functionResponse, text, thought, inlineData } = part;
    if (functionCall) return [{ text: `[called ${functionCall.name}(${JSON.stringify(functionCall.args ?? {})})]` }];
    if (functionResponse)
      return [{ text: `[${functionResponse.name} returned ${JSON.stringify(functionResponse.response ?? {})}]` }];
    if (thought) return [];
    return text || inlineData ? [part] : [];
  });
  return { role, parts: texts };
}
