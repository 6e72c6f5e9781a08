import type { Event } from "@google/adk";

/**
 * Responses after which another agent takes over the conversation. The connection that is asked to send such a response
 * gets only its content, so the content is remembered here.
 */
const handovers = new WeakSet<object>();

export function noteHandover({ content, actions }: Event): void {
  if (content && actions?.transferToAgent) handovers.add(content);
}

export function isHandover(content: object): boolean {
  return handovers.has(content);
}
