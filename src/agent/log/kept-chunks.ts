import { getToolName, isToolUIPart, type UIMessage, type UIMessageChunk } from "ai";
import type { Approval } from "../../stores/index.ts";
import { interruption, outcomeChunks } from "../approval/outcome.ts";
import { rowsByCall } from "./settle-message.ts";

/** Calls that stay when their reply is made again, as the new reply shows them. */
export interface KeptCalls {
  /** The messages of the old reply, in order. */
  messages: readonly UIMessage[];
  /** The calls of the chat's own history, in order; those of one step are next to each other. */
  calls: readonly { id: string; name: string; input: unknown; response: unknown; step: string }[];
  /** The ids of calls that agents run as tools have made for these calls. */
  inner: ReadonlySet<string>;
  rows: readonly Approval[];
  /** The calls of browser tools. */
  client: ReadonlySet<string>;
}

/** The first chunks of a reply that is made again: its calls with their outcomes, step by step, without the words. */
export function keptChunks({ messages, calls, inner, rows, client }: KeptCalls): UIMessageChunk[] {
  const byCall = rowsByCall(rows);
  const wanted = new Map(calls.map((each) => [each.id, each]));
  const shown = new Set<string>();
  const steps: UIMessageChunk[][] = [];
  for (const { parts } of messages) {
    steps.push([]);
    for (const part of parts) {
      if (part.type === "step-start") steps.push([]);
      if (!isToolUIPart(part) || shown.has(part.toolCallId)) continue;
      const { toolCallId } = part;
      if (!wanted.has(toolCallId) && !inner.has(toolCallId)) continue;
      shown.add(toolCallId);
      const named = { toolCallId, toolName: getToolName(part) };
      const row = byCall.get(toolCallId);
      const ends = row ? outcome(row) : partOutcome(part, wanted.get(toolCallId)?.response);
      steps.at(-1)?.push(...callChunks(named, part.input, client), ...ends);
    }
  }
  // A crash may have kept a call from being shown.
  let step: string | undefined;
  for (const { id, name, input, response, step: made } of calls) {
    if (shown.has(id)) continue;
    if (made !== step) steps.push([]);
    step = made;
    const row = byCall.get(id);
    const ends = row ? outcome(row) : [result(id, response)];
    steps.at(-1)?.push(...callChunks({ toolCallId: id, toolName: name }, input, client), ...ends);
  }
  return steps.flatMap((chunks) =>
    chunks.length === 0 ? [] : [{ type: "start-step" as const }, ...chunks, { type: "finish-step" as const }],
  );
}

function callChunks(named: { toolCallId: string; toolName: string }, input: unknown, client: ReadonlySet<string>) {
  // Stock chats run a browser tool when they read its input. This call has run.
  const hasRun = client.has(named.toolCallId) && { providerExecuted: true };
  return [
    { type: "tool-input-start", ...named, ...hasRun },
    { type: "tool-input-available", ...named, input: input ?? {}, ...hasRun },
  ] satisfies UIMessageChunk[];
}

/** The reader has not seen the question, so a denial, an expiry and a cancellation are errors for it. */
function outcome(row: Approval): UIMessageChunk[] {
  return outcomeChunks(row, row.state === "succeeded" ? undefined : true);
}

function partOutcome(part: UIMessage["parts"][number], response: unknown): UIMessageChunk[] {
  if (!isToolUIPart(part)) return [];
  const { toolCallId } = part;
  if (part.state === "output-available") return [output(toolCallId, part.output)];
  if (part.state === "output-error")
    return [{ type: "tool-output-error", toolCallId, errorText: part.errorText ?? "The call failed." }];
  return [result(toolCallId, response)];
}

/** A call without a row and without a response was interrupted. */
function result(toolCallId: string, response: unknown): UIMessageChunk {
  return response === undefined ? interruption(toolCallId) : output(toolCallId, response);
}

function output(toolCallId: string, value: unknown): UIMessageChunk {
  return { type: "tool-output-available", toolCallId, output: value };
}
