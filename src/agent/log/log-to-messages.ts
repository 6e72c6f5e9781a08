import { isToolUIPart, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import type { Approval, LogEntry } from "../../stores/index.ts";
import { describeQuestion } from "../approval/describe-question.ts";
import { approvalToData, errorText } from "../approval/outcome.ts";

/**
 * Rebuilds a chat's messages from its log and its ledger, with the same reader that browsers use. The log says what was
 * shown; the ledger says what was decided, on any device, and wins. A turn that cannot be read is reported and read as far
 * as possible, so that one bad turn does not hide a chat.
 */
export async function logToMessages(
  entries: readonly LogEntry[],
  approvals: readonly Approval[],
  onError: (error: unknown) => void,
): Promise<UIMessage[]> {
  const messages = new Map<string, UIMessage>();
  for (const turn of turnsOf(entries)) {
    if (turn.message) messages.set(turn.message.id, turn.message);
    if (turn.chunks.length === 0) continue;
    const message = await fold(messages.get(turn.reply), turn.chunks, onError);
    if (message) messages.set(turn.reply, message);
  }
  const rows = new Map(
    approvals.flatMap((approval) => [[approval.toolCallId, approval] as const, [approval.id, approval] as const]),
  );
  return [...messages.values()].map((message) => ({ ...message, parts: settleParts(message.parts, rows) }));
}

interface LoggedTurn {
  reply: string;
  message?: UIMessage;
  chunks: UIMessageChunk[];
}

/** The turns without withdrawn entries. */
function turnsOf(entries: readonly LogEntry[]): LoggedTurn[] {
  const withdrawn = entries.flatMap((entry) =>
    entry.kind === "withdraw" ? [[entry.from, entry.sequence] as const] : [],
  );
  const turns = new Map<string, LoggedTurn>();
  for (const entry of entries) {
    if (withdrawn.some(([from, until]) => from <= entry.sequence && entry.sequence < until)) continue;
    if (entry.kind === "begin") turns.set(entry.turn, { reply: entry.reply, message: entry.message, chunks: [] });
    else if (entry.kind === "chunk") turns.get(entry.turn)?.chunks.push(entry.chunk);
  }
  return [...turns.values()];
}

async function fold(
  message: UIMessage | undefined,
  chunks: readonly UIMessageChunk[],
  onError: (error: unknown) => void,
): Promise<UIMessage | undefined> {
  let folded = message;
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(asMetadata(chunk));
      controller.close();
    },
  });
  try {
    for await (const next of readUIMessageStream({ message, stream, terminateOnError: true })) folded = next;
  } catch (error) {
    onError(error);
  }
  return folded;
}

/** An error would end the stream, so a stored message has it as metadata. */
function asMetadata(chunk: UIMessageChunk): UIMessageChunk {
  return chunk.type === "error" ? { type: "message-metadata", messageMetadata: { error: chunk.errorText } } : chunk;
}

type Part = UIMessage["parts"][number];

function settleParts(parts: readonly Part[], rows: ReadonlyMap<string, Approval>): Part[] {
  const called = new Set<string>();
  return parts.map((part) => {
    const isAgain = isToolUIPart(part) && called.has(part.toolCallId);
    if (isToolUIPart(part)) called.add(part.toolCallId);
    return settlePart(part, rows, isAgain);
  });
}

/** `isAgain`: the message has the call before. Its first part has the approval, and this one is only about its result. */
function settlePart(part: Part, rows: ReadonlyMap<string, Approval>, isAgain: boolean): Part {
  if (part.type === "data-approval" && "id" in part) {
    const row = part.id === undefined ? undefined : rows.get(part.id);
    return row ? { ...part, data: approvalToData(row) } : part;
  }
  if (!isToolUIPart(part)) return part;
  const row = rows.get(part.toolCallId);
  if (!row) return part;
  const { type, toolCallId, input } = part;
  const named = "toolName" in part ? { toolName: part.toolName } : {};
  return { type, ...named, toolCallId, input, ...partState(isAgain ? { ...row, gated: false } : row, part) } as Part;
}

/** The question as AI SDK makes it of the chunk. */
function openQuestion(row: Approval) {
  const { descriptor, reason } = describeQuestion(row);
  return { id: row.id, ...(descriptor && { descriptor }), ...(reason !== undefined && { requestReason: reason }) };
}

/** The fields of AI SDK's tool part for a row, in a form that both majors accept. */
function partState(row: Approval, part: Part) {
  const approval = {
    approval: { id: row.id, approved: true, ...(row.reason !== undefined && { reason: row.reason }) },
  };
  const yes = row.gated ? approval : {};
  switch (row.state) {
    case "pending":
      return { state: "approval-requested", approval: openQuestion(row) };
    case "approved":
    case "executing":
      return row.gated ? { state: "approval-responded", ...approval } : { state: "input-available" };
    case "waiting":
      if (row.interim) return { state: "output-available", output: row.interim, preliminary: true, ...yes };
      return row.gated ? { state: "approval-responded", ...approval } : { state: "input-available" };
    case "succeeded":
      return { state: "output-available", output: row.outcome, ...yes };
    case "failed":
    case "indeterminate":
      return { state: "output-error", errorText: errorText(row), ...yes };
    case "denied":
      return {
        state: "output-denied",
        approval: { id: row.id, approved: false, ...(row.reason !== undefined && { reason: row.reason }) },
      };
    case "expired":
    case "cancelled":
      // No one answered. Both majors know only this state without an answer; the `data-approval` says what happened.
      return row.gated
        ? { state: "output-denied", approval: { id: row.id, approved: false, reason: errorText(row) } }
        : { state: "output-error", errorText: errorText(row) };
    default:
      return part;
  }
}
