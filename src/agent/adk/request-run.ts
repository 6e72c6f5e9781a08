import { type Event, type Runner, StreamingMode } from "@google/adk";
import type { Content } from "@google/genai";
import { stepThrough } from "../support/index.ts";
import { isSummary } from "./history.ts";
import { type EventMetadata, withMetadata } from "./event-metadata.ts";

export interface RequestRunOptions {
  userId: string;
  sessionId: string;
  content: Content;
  /** Metadata of the event that stores the content. */
  metadata?: EventMetadata | undefined;
  stateDelta?: Record<string, unknown> | undefined;
  maxLlmCalls: number;
  signal: AbortSignal;
}

/** K7: a user message with an empty text reaches no request. It makes the model go on with the history as it is. */
export const emptyContent: Content = { role: "user", parts: [{ text: "" }] };

/** The events of one ADK run by requests. Ends when ADK does, when the signal aborts, or after two errors in a row. */
export function runRequests(runner: Runner, options: RequestRunOptions): AsyncGenerator<Event> {
  const { userId, sessionId, content, metadata, stateDelta, maxLlmCalls, signal } = options;
  const events = runner.runAsync({
    userId,
    sessionId,
    newMessage: content,
    stateDelta,
    abortSignal: signal,
    ...(metadata && withMetadata(metadata)),
    runConfig: { streamingMode: StreamingMode.SSE, maxLlmCalls },
  });
  let failures = 0;
  return stepThrough(withoutSummaries(events), signal, ({ errorCode }) => {
    failures = errorCode === undefined ? 0 : failures + 1;
    // ADK reports an error as an event and goes on. A loop would fail for ever and block the process.
    return failures > 1;
  });
}

/** Summaries are stored for the model. The user does not see them. */
async function* withoutSummaries(events: AsyncGenerator<Event>): AsyncGenerator<Event> {
  for await (const event of events) if (!isSummary(event)) yield event;
}
