import type { ApprovalResolution } from "adk-stream-protocol/client";
import type { ApprovalView } from "adk-stream-protocol/protocol";
import type { UIMessage } from "ai";
import { type LedgerPage, LedgerPages } from "./ledger-pages.ts";
import type { Resolved } from "./resolution.ts";

/** What the server knows about a chat in addition to its messages. */
export interface Ledger {
  approvals: ApprovalView[];
  /** The last sequence number of the chat's log. If it has changed, the page's messages may be out of date. */
  sequence: number;
  /** A turn is being generated right now. */
  running: boolean;
}

export interface Payment {
  id: string;
  amount: number;
  recipient: string;
  currency: string;
  description?: string;
  at: number;
  transaction_id: string;
}

export interface Wallet {
  balance: number;
  currency: string;
  payments: Payment[];
}

export interface Health {
  ok: boolean;
  model?: string;
  liveModel?: string;
  scripted?: boolean;
  /** Whether the server has the routes of the inspector and of the “Break it” menu. */
  debug?: boolean;
  /** Whether it is the demo's server, with a wallet, sample tools and browser tools. */
  demo?: boolean;
  /** When the server started. */
  startedAt?: number;
  /** The name of the process that replied. */
  process?: string;
}

/** The server does not know who sends the requests of this page, or no longer does. */
export class SignedOut extends Error {}

/** The server does not know a chat before its first message; the page treats it as an empty chat. */
const emptyLedger: Ledger = { approvals: [], sequence: 0, running: false };

/** Some messages of a chat, in order. `before` names the page before them, if there is one. */
export interface MessagePage {
  messages: UIMessage[];
  before?: string;
}

const messagesPerPage = 50;

/** The newest messages of a chat, or those before a page. */
export async function fetchMessages(
  chatId: string,
  before?: string,
  limit: number = messagesPerPage,
): Promise<MessagePage> {
  const query = new URLSearchParams({ limit: String(limit), ...(before === undefined ? {} : { before }) });
  const path = `/stream/${encodeURIComponent(chatId)}/messages?${query}`;
  return (await getJson<MessagePage>(path)) ?? { messages: [] };
}

/** How many approvals are read at once. */
const approvalsPerPage = 100;
let ledger: { chatId: string; pages: LedgerPages } | undefined;

/** The ledger, and how far the server's clock is ahead of the browser's, in milliseconds. */
export async function fetchLedger(chatId: string): Promise<Ledger & { clockOffset: number }> {
  if (ledger?.chatId !== chatId) ledger = { chatId, pages: new LedgerPages() };
  let offset = 0;
  const found = await ledger.pages.read(async (cursor) => {
    const page = { chat: chatId, limit: String(approvalsPerPage), ...(cursor === undefined ? {} : { cursor }) };
    const response = await get(`/approvals?${new URLSearchParams(page)}`);
    offset = clockOffset(response);
    return response.status === 404 ? emptyLedger : ((await response.json()) as LedgerPage);
  });
  return { ...found, clockOffset: offset };
}

let server: Promise<Health | undefined> | undefined;

/** Only the demo's server has a wallet. What kind of server it is does not change, so it is asked once. */
export async function fetchWallet(): Promise<Wallet | undefined> {
  server ??= fetchHealth().catch(() => (server = undefined));
  return (await server)?.demo ? getJson<Wallet>("/wallet") : undefined;
}

export async function fetchHealth(): Promise<Health | undefined> {
  return getJson<Health>("/health");
}

/** Stops the turn on the server. Closing the connection alone does not stop it. */
export async function stopTurn(chatId: string): Promise<void> {
  await fetch(`/stream/${encodeURIComponent(chatId)}/stop`, { method: "POST" });
}

/** Sends a decision outside the chat, because the chat is busy with another reply. */
export async function postDecision(approvalId: string, approved: boolean, reason?: string): Promise<void> {
  const body = JSON.stringify({ approved, ...(reason ? { reason } : {}) });
  const headers = { "content-type": "application/json" };
  await fetch(`/approvals/${encodeURIComponent(approvalId)}`, { method: "POST", headers, body });
}

/** Says what became of a call whose outcome is not known. */
export async function postResolution(approvalId: string, resolution: ApprovalResolution): Promise<Resolved> {
  const headers = { "content-type": "application/json" };
  const path = `/approvals/${encodeURIComponent(approvalId)}/resolution`;
  try {
    const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(resolution) });
    if (response.ok) return "resolved";
    if (response.status === 404) return "missing";
    const { state } = (await response.json()) as { state?: ApprovalView["state"] };
    return response.status === 409 && state !== undefined ? { state } : "unreachable";
  } catch {
    return "unreachable";
  }
}

async function getJson<T>(path: string): Promise<T | undefined> {
  const response = await get(path);
  return response.status === 404 ? undefined : ((await response.json()) as T);
}

async function get(path: string): Promise<Response> {
  const response = await fetch(path, { cache: "no-store", headers: { accept: "application/json" } });
  if (response.status === 401) throw new SignedOut(`${path} needs a signed-in person.`);
  if (!response.ok && response.status !== 404) throw new Error(`${path} answered ${response.status}`);
  return response;
}

/** The server's clock decides about expiry. The `Date` header has whole seconds, so small differences are ignored. */
function clockOffset(response: Response): number {
  const date = Date.parse(response.headers.get("date") ?? "");
  const offset = date - Date.now();
  return Number.isFinite(offset) && Math.abs(offset) > 2000 ? offset : 0;
}
