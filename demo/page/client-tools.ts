import type { ApprovalData, ApprovalView } from "adk-stream-protocol/protocol";
import { getToolName, isToolUIPart, type UIMessage } from "ai";
import { isOver, serverState } from "./card-state.ts";
import { firstParts } from "./first-parts.ts";

/**
 * The tools that run in this page, and whether a person has to approve them first. The server checks this too. The page
 * checks it again so that it never shares its location because of a mistake on the server.
 */
const clientTools = new Map<string, { gated: boolean }>([
  ["change_bgm", { gated: false }],
  ["get_location", { gated: true }],
]);

/** Other servers than the demo's may have server tools with the same names. */
export function forgetClientTools(): void {
  clientTools.clear();
}

export const isClientTool = (toolName: string): boolean => clientTools.has(toolName);

export interface ClientCall {
  toolCallId: string;
  toolName: string;
  input: unknown;
}

export interface ChatFacts {
  messages: readonly UIMessage[];
  data: ReadonlyMap<string, ApprovalData>;
  rows: readonly ApprovalView[];
}

/**
 * The browser calls that should run now:
 * - A call that needs no approval runs when its turn has ended.
 * - A call that needs approval runs after the server has recorded the yes, and only in the tab where the yes was given:
 *   a yes on one device must not share the location of another one.
 * - A call that is over on the server does not run. A call in an older message runs only if the server waits for it.
 */
export function callsToRun(
  { messages, data, rows }: ChatFacts,
  started: ReadonlySet<string>,
  isAnsweredHere: (approvalId: string) => boolean,
): ClientCall[] {
  const rowOfCall = new Map(rows.map((row) => [row.toolCallId, row]));
  const last = messages.at(-1);
  const calls: ClientCall[] = [];
  for (const message of messages) {
    for (const part of message.parts) {
      if (!isToolUIPart(part) || started.has(part.toolCallId)) continue;
      const toolName = getToolName(part);
      const tool = clientTools.get(toolName);
      if (!tool) continue;
      const row = rowOfCall.get(part.toolCallId);
      const reported = serverState(part.approval && data.get(part.approval.id), row);
      if (isOver(reported) || reported === "pending") continue;
      const call = { toolCallId: part.toolCallId, toolName, input: part.input };
      if (part.state === "input-available" && !tool.gated && (row || message === last)) calls.push(call);
      if (part.state !== "approval-responded" || !part.approval.approved || !isAnsweredHere(part.approval.id)) continue;
      // The server waits for the result of an approved call.
      if (reported === "approved" || reported === "waiting") calls.push(call);
    }
  }
  return calls;
}

/** Whether a call that has just run here still needs an outcome. A new message may have cancelled it meanwhile. */
export function isOpenCall({ messages, rows }: Omit<ChatFacts, "data">, toolCallId: string): boolean {
  if (isOver(rows.find((row) => row.toolCallId === toolCallId)?.state)) return false;
  return messages.some(({ parts }) =>
    parts.some((part) => isToolUIPart(part) && part.toolCallId === toolCallId && !part.state.startsWith("output-")),
  );
}

/**
 * What this page has to send itself, as keys. `useChat` sends answers only when every call of the last step has one, but
 * a person who approves one of two payments expects it to run now. Each key is sent once; if that fails, the person
 * decides whether to send it again.
 */
export function keysToSend(
  { messages, data, rows }: ChatFacts,
  ranHere: ReadonlySet<string>,
  sent: ReadonlySet<string>,
): string[] {
  const rowOf = new Map(rows.map((row) => [row.approvalId, row]));
  const keys: string[] = [];
  for (const part of messages.flatMap((message) => message.parts)) {
    if (!isToolUIPart(part)) continue;
    if (part.state === "approval-responded") {
      const reported = serverState(data.get(part.approval.id), rowOf.get(part.approval.id));
      if (reported === undefined || reported === "pending") keys.push(`answer:${part.approval.id}`);
    } else if (part.state.startsWith("output-") && ranHere.has(part.toolCallId)) {
      keys.push(`output:${part.toolCallId}`);
    }
  }
  return keys.filter((key) => !sent.has(key));
}

/** The results among these keys that belong to an older message. A request by the chat itself would not send them. */
export function lateResults(keys: readonly string[], messages: readonly UIMessage[]): LateResult[] {
  return messages.slice(0, -1).flatMap((message) =>
    firstParts(message.parts).flatMap((part): LateResult[] => {
      if (!isToolUIPart(part)) return [];
      const key = `output:${part.toolCallId}`;
      if (!keys.includes(key)) return [];
      const result = part.state === "output-error" ? { error: part.errorText } : part.output;
      return [{ key, toolCallId: part.toolCallId, result }];
    }),
  );
}

export interface LateResult {
  key: string;
  toolCallId: string;
  result: unknown;
}
