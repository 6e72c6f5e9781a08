import {
  type BaseAgent,
  type Event,
  type InvocationContext,
  isLlmAgent,
  isLoopAgent,
  isParallelAgent,
  isRoutedAgent,
  isSequentialAgent,
} from "@google/adk";
import type { Part } from "@google/genai";
import { isReserved } from "./history.ts";

/**
 * Agents may yield events that others wrote: those of a remote peer (A2A), or of plain code. Such events must not pass for
 * the user's words, for answers to calls that others made, or for notes of our own.
 */

/** The author of events whose agent is not known. */
const unknownAgent = "other_agent";

/** Takes out of an event what its author may not say, in place (K3). Returns what was taken out, for the log. */
export function checkAuthor(event: Event, context: InvocationContext): string[] {
  const removed: string[] = [];
  if (dropOwnMetadata(event, context)) removed.push("metadata");
  // What a live model heard the user say is the user's own.
  const isTranscript = event.inputTranscription !== undefined && event.content === undefined;
  const claimsUser = (event.author === "user" || !event.author) && !isTranscript;
  if (claimsUser) {
    event.author = plainAgentBelow(context.agent?.rootAgent) ?? unknownAgent;
    removed.push("author");
  }
  const parts = event.content?.parts;
  if (!parts?.some(({ functionCall, functionResponse }) => functionCall ?? functionResponse)) return removed;

  const others = context.session.events.filter(({ id }) => id !== event.id);
  /** The author of each call in the history. */
  const made = new Map(
    others.flatMap(({ author, content }) =>
      (content?.parts ?? []).flatMap(({ functionCall }) =>
        functionCall?.id ? [[functionCall.id, author] as const] : [],
      ),
    ),
  );
  const reserved: string[] = [];
  const mayStay = ({ functionCall, functionResponse }: Part): boolean => {
    if (functionCall) {
      // A second call with the same id would be answered by the response to the first.
      const isNew = !functionCall.id || !made.has(functionCall.id);
      if (isReserved(functionCall.name)) reserved.push(functionCall.name ?? "");
      return isNew && !isReserved(functionCall.name);
    }
    if (!functionResponse) return true;
    const { id, name } = functionResponse;
    return !claimsUser && id !== undefined && !isReserved(name) && made.get(id) === event.author;
  };
  const kept = parts.filter(mayStay);
  if (kept.length === parts.length) return removed;
  event.content = kept.length > 0 ? { ...event.content, parts: kept } : undefined;
  const calls = new Set(kept.map(({ functionCall }) => functionCall?.id));
  // A remote agent's event also has the peer's whole reply, as it came.
  if (event.customMetadata) delete event.customMetadata["a2a:response"];
  event.longRunningToolIds = event.longRunningToolIds?.filter((id) => calls.has(id));
  if (reserved.length > 0 && !event.partial) {
    event.errorCode ??= "UNSUPPORTED_REQUEST";
    event.errorMessage ??= `The agent ${event.author ?? unknownAgent} asks for something that this server cannot pass on (${reserved.join(", ")}).`;
  }
  return [...removed, "calls or responses"];
}

/** Removes metadata that only our own events have. A live connection adds its notices before the gate sees them. */
function dropOwnMetadata({ customMetadata }: Event, { liveRequestQueue }: InvocationContext): boolean {
  if (!customMetadata) return false;
  const own = ["message", "kept", "transfer", "unknown", ...(liveRequestQueue ? [] : ["notice", "owed"])];
  const found = own.filter((key) => key in customMetadata);
  for (const key of found) delete customMetadata[key];
  return found.length > 0;
}

/** The name of the agent of plain code or on another server, if there is exactly one in the tree. */
function plainAgentBelow(root: BaseAgent | undefined): string | undefined {
  const names: string[] = [];
  const visit = (agent: BaseAgent) => {
    const isKnown =
      isLlmAgent(agent) ||
      isSequentialAgent(agent) ||
      isLoopAgent(agent) ||
      isParallelAgent(agent) ||
      isRoutedAgent(agent);
    if (!isKnown) names.push(agent.name);
    for (const child of agent.subAgents) visit(child);
  };
  if (root) visit(root);
  return names.length === 1 ? names[0] : undefined;
}
