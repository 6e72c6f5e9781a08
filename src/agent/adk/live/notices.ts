import type { BaseLlmConnection, LlmResponse } from "@google/adk";
import { metadataOf, type Notice, withMetadata } from "../event-metadata.ts";

/** What a live connection reports besides the model's output. ADK has no response for it, so it travels as metadata. */

/** K22: ADK passes a response on only if it has something in it, and does not store a partial one. */
export function notice(said: Notice): LlmResponse {
  return { partial: true, usageMetadata: {}, ...withMetadata({ notice: said }) };
}

export function noticeOf(event: { customMetadata?: Record<string, unknown> }): Notice | undefined {
  return metadataOf(event).notice;
}

/** Makes the connection of a model other than Gemini report that it is connected. */
export function announceConnection(connection: BaseLlmConnection): BaseLlmConnection {
  const receive = connection.receive.bind(connection);
  connection.receive = async function* () {
    yield notice({ connected: true });
    yield* receive();
  };
  return connection;
}
