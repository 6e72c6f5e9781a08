import type { Event } from "@google/adk";
import type { GenerateContentResponseUsageMetadata } from "@google/genai";
import { hasHeldCall } from "../adk/event-metadata.ts";
import { responsesOf } from "../adk/history.ts";

/**
 * Token counts of a turn, kept per agent and run: a parent's last count comes after its children's, and an agent run as a
 * tool counts separately from its caller. Pure.
 */
export type UsageCounts = ReadonlyMap<string, AgentUsage>;

/** Each event repeats the usage of its model call so far, so a call is added up when the next one begins. */
interface AgentUsage {
  before: Usage;
  call: Usage;
  ended: boolean;
}

export interface Usage {
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
  reasoningTokens: number;
  cachedInputTokens: number;
}

const noUsage: Usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0, reasoningTokens: 0, cachedInputTokens: 0 };

/** The sum over all model calls of the turn, including those of agents run as tools. */
export function totalUsage(counts: UsageCounts): Usage {
  return [...counts.values()].reduce((sum, { before, call }) => addUsage(addUsage(sum, before), call), noUsage);
}

/** The counts with the usage of this event. */
export function countUsage(counts: UsageCounts, event: Event): UsageCounts {
  const { usageMetadata, content, partial, finishReason } = event;
  // A live model streams many pieces of text without counts.
  if (partial && !usageMetadata) return counts;
  const key = `${event.invocationId}/${event.author}/${event.branch ?? ""}`;
  const last = counts.get(key) ?? { before: noUsage, call: noUsage, ended: false };
  const answered = responsesOf(event).length > 0 || hasHeldCall(event);
  const speaks = content !== undefined && !answered;
  // Content after responses or a finish reason belongs to the next call; a count without content belongs to this one.
  const next: AgentUsage =
    last.ended && speaks ? { before: addUsage(last.before, last.call), call: noUsage, ended: false } : last;
  const call = usageMetadata ? toUsage(usageMetadata) : next.call;
  const ended = next.ended || answered || (speaks && !partial && finishReason !== undefined);
  return new Map(counts).set(key, { ...next, call, ended });
}

function toUsage(metadata: GenerateContentResponseUsageMetadata): Usage {
  return {
    inputTokens: (metadata.promptTokenCount ?? 0) + (metadata.toolUsePromptTokenCount ?? 0),
    outputTokens: (metadata.candidatesTokenCount ?? 0) + (metadata.thoughtsTokenCount ?? 0),
    totalTokens: metadata.totalTokenCount ?? 0,
    reasoningTokens: metadata.thoughtsTokenCount ?? 0,
    cachedInputTokens: metadata.cachedContentTokenCount ?? 0,
  };
}

/** The sum of two. */
export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    totalTokens: a.totalTokens + b.totalTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
  };
}
