import type { BaseLlmConnection, Event, LlmResponse } from "@google/adk";

/**
 * What a live connection says besides the model's own words, and how its calls are known. It has no place in an ADK
 * response, so it travels in the metadata of one.
 */

/** What the connection says besides the model's own words. */
export interface Notice {
  /** The history was sent, and the model listens. */
  connected?: true;
  /** The model takes these calls back. */
  cancelled?: string[];
  /** The server will close soon. */
  leaving?: true;
}

const noticeKey = "live-notice";
const owedKey = "live-owed";

export function noticeOf(event: { customMetadata?: Record<string, unknown> }): Notice | undefined {
  return event.customMetadata?.[noticeKey] as Notice | undefined;
}

/**
 * At the end of a model's turn, the calls it had made and not been answered when it ended. Whoever answered one of them
 * since is owed another turn; the end of a turn that only called says nothing about the turns after it.
 */
export function owedOf(event: { customMetadata?: Record<string, unknown> }): readonly string[] {
  return (event.customMetadata?.[owedKey] as string[] | undefined) ?? [];
}

export function owes(callIds: readonly string[]): Pick<LlmResponse, "customMetadata"> {
  return callIds.length > 0 ? { customMetadata: { [owedKey]: callIds } } : {};
}

/** Only an event with something in it passes ADK, and a partial one is not stored. */
export function notice(said: Notice): LlmResponse {
  return { partial: true, usageMetadata: {}, customMetadata: { [noticeKey]: said } };
}

/** A connection of another kind of model, which says that it is there before anything else. */
export function announceConnection(connection: BaseLlmConnection): BaseLlmConnection {
  const receive = connection.receive.bind(connection);
  connection.receive = async function* () {
    yield notice({ connected: true });
    yield* receive();
  };
  return connection;
}

/** Begins the id of every call made over a live connection. */
export const callPrefix = "live-";

/** True for the id of a call made over a live connection. */
export const isLiveId = (callId: string): boolean => callId.startsWith(callPrefix);

/** True for calls made over a live connection, and for those of agents run as tools that were called over one. */
export function isAskedLive({ toolCallId, session }: { toolCallId: string; session: string }): boolean {
  return isLiveId(toolCallId) || session.includes(`~${callPrefix}`);
}

/** Responses behind which another agent takes over. */
const handovers = new WeakSet<object>();

export function isHandover(content: object): boolean {
  return handovers.has(content);
}

/** Remembers of an event's content what the connection it is sent on cannot see. */
export function noteHandover({ content, actions }: Event): void {
  if (content && actions?.transferToAgent) handovers.add(content);
}
