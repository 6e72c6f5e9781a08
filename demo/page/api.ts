import type { ApprovalView } from "adk-stream-protocol/protocol";
import { type LedgerPage, LedgerPages } from "./ledger-pages.ts";

/** What the server knows about a chat in addition to its messages. */
export interface Ledger {
  approvals: ApprovalView[];
  /** The last sequence number of the chat's log. If it has changed, the page's messages may be out of date. */
  sequence: number;
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
const emptyLedger: Ledger = { approvals: [], sequence: 0 };

/** How many approvals are read at once. */
const approvalsPerPage = 100;
let ledger: { chatId: string; pages: LedgerPages } | undefined;

export async function fetchLedger(chatId: string): Promise<Ledger> {
  if (ledger?.chatId !== chatId) ledger = { chatId, pages: new LedgerPages() };
  return ledger.pages.read(async (cursor) => {
    const page = { chat: chatId, limit: String(approvalsPerPage), ...(cursor === undefined ? {} : { cursor }) };
    const response = await get(`/approvals?${new URLSearchParams(page)}`);
    return response.status === 404 ? emptyLedger : ((await response.json()) as LedgerPage);
  });
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
