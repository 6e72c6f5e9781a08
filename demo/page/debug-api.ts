import type { ApprovalView } from "adk-stream-protocol/protocol";
import { fetchHealth } from "./api.ts";
import { type LogLine, readLog } from "./read-log.ts";

/** What the inspector and the “Break it” menu ask of the demo's server, besides what every page asks. */

/** One request to the model and its response. */
export interface ModelExchange {
  at: number;
  endedAt?: number;
  contents: unknown[];
  earlier: number;
  tools: string[];
  response: unknown[];
}

/** The model's side of a chat: the requests to it, and the events of its session. */
export interface ModelSide {
  requests: ModelExchange[];
  /** The node whose requests these are. Missing if there is only one. */
  node?: string;
  events: Record<string, unknown>[];
}

const pathOf = (chatId: string, what: string) => `/debug/chats/${encodeURIComponent(chatId)}/${what}`;

/** The end of a chat's log. Empty if the server does not know the chat. */
export async function fetchLogEnd(chatId: string, last: number): Promise<LogLine[]> {
  const response = await fetch(pathOf(chatId, `log?last=${last}`), { cache: "no-store" });
  if (!response.ok) return [];
  const read = readLog(await response.text());
  return "lines" in read ? read.lines : [];
}

/** A chat's whole log as a file. */
export async function fetchLogFile(chatId: string): Promise<Blob> {
  const response = await fetch(pathOf(chatId, "log"), { cache: "no-store" });
  if (!response.ok) throw new Error(`The log cannot be read (${response.status}).`);
  return response.blob();
}

/** The state of a chat's session. Empty before its first message. */
export async function fetchState(chatId: string): Promise<Record<string, unknown>> {
  const response = await fetch(pathOf(chatId, "state"), { cache: "no-store" });
  if (response.status === 404) return {};
  if (!response.ok) throw new Error(`The state cannot be read (${response.status}).`);
  return ((await response.json()) as { state: Record<string, unknown> }).state;
}

/** The agent of a development server. */
export interface AgentInfo {
  name: string;
  file: string;
  /** The names of its tools and of those of its sub-agents, without what toolsets bring. */
  tools: string[];
  loadedAt: number;
  /** Why the last change of the file was not taken. */
  problem?: string;
}

/** Undefined if the server does not tell. */
export async function fetchAgent(): Promise<AgentInfo | undefined> {
  const response = await fetch("/debug/agent", { cache: "no-store" });
  return response.ok ? ((await response.json()) as AgentInfo) : undefined;
}

export async function fetchModelSide(chatId: string): Promise<ModelSide> {
  const response = await fetch(pathOf(chatId, "model"), { cache: "no-store" });
  // The server does not know a chat before its first message.
  if (response.status === 404) return { requests: [], events: [] };
  if (!response.ok) throw new Error(`The model's side cannot be read (${response.status}).`);
  return (await response.json()) as ModelSide;
}

/** The server that does it. Of several nodes only one does. */
export interface DisturbedServer {
  process: string;
  startedAt: number;
  node?: string;
}

/** Asks the server to disturb itself. Undefined if it does not allow it. */
export async function postDebug(what: "cut" | "restart"): Promise<DisturbedServer | undefined> {
  const response = await fetch(`/debug/${what}`, { method: "POST" });
  return response.ok ? ((await response.json()) as DisturbedServer) : undefined;
}

export async function resetWallet(): Promise<void> {
  await fetch("/wallet/reset", { method: "POST" });
}

/** The reply to a decision that is sent directly: its status, and the state or the sentence in it. */
export async function decide(approvalId: string, approved: boolean): Promise<{ status: number; words: string }> {
  const headers = { "content-type": "application/json" };
  const path = `/approvals/${encodeURIComponent(approvalId)}`;
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify({ approved }) });
  const body = (await response.json()) as { state?: ApprovalView["state"]; message?: string };
  return { status: response.status, words: body.message ?? body.state ?? "" };
}

/**
 * When the server started, by its clock. Undefined if it cannot be reached, or if another process than the named one
 * replied.
 */
export async function fetchStart(process?: string): Promise<number | undefined> {
  const health = await fetchHealth().catch(() => undefined);
  return process === undefined || health?.process === process ? health?.startedAt : undefined;
}
