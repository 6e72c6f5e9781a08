import type { ApprovalView } from "adk-stream-protocol/protocol";
import { fetchLedger, fetchWallet } from "./api.ts";
import { decide, fetchStart, postDebug } from "./debug-api.ts";
import { clockTime } from "./format.ts";
import { ledgerLine } from "./ledger-line.ts";
import type { PanelStrings, Trial } from "./panel-strings.ts";
import type { Language } from "./strings.ts";

/** What a trial needs of the page. */
export interface TrialContext {
  chatId: string;
  words: PanelStrings["breakIt"];
  language: Language;
  /** A call that waits for an answer. */
  waiting: ApprovalView | undefined;
  /** Sends a message in the chat. */
  send: (text: string) => void;
  /** The sentence that makes the script ask for something that soon expires. */
  expiringSentence: string;
  /** Adds a line to what happened. */
  tell: (line: string) => void;
}

const pollMs = 250;
const longestMs = 20_000;

/** Does one thing that usually goes wrong, and tells what the server says came of it. */
export async function runTrial(trial: Trial, context: TrialContext): Promise<void> {
  switch (trial) {
    case "double":
      return answerThreeTimes(context);
    case "tab":
      return openTab(context);
    case "cut":
      return cutConnections(context);
    case "restart":
      return restartServer(context);
    case "expire":
      return letExpire(context);
  }
}

/** The decisions go to the server at the same time. One of them counts, and the call runs once or not at all. */
async function answerThreeTimes({ chatId, words, language, waiting, tell }: TrialContext): Promise<void> {
  if (!waiting) return;
  const before = await countPayments();
  const answers = [true, true, false];
  const replies = await Promise.all(answers.map((approved) => decide(waiting.approvalId, approved)));
  replies.forEach(({ status, words: said }, index) =>
    tell(words.answered(answers[index] ? words.yes : words.no, status, said)),
  );
  const row = await waitForRow(chatId, ({ approvalId, state }) => approvalId === waiting.approvalId && isAtRest(state));
  if (row) tell(ledgerLine(row, words, language));
  if (row?.toolName === "process_payment") tell(words.paid((await countPayments()) - before));
}

async function openTab({ chatId, words, language, waiting, tell }: TrialContext): Promise<void> {
  // Without `noopener` the browser says whether it opened the tab; the tab is this page.
  const tab = window.open(location.href, "_blank");
  if (!tab) return tell(words.tabBlocked);
  tell(waiting ? words.tabOpen : words.tabNoQuestion);
  if (!waiting) return;
  const isAnswered = ({ approvalId, state }: ApprovalView) => approvalId === waiting.approvalId && isAtRest(state);
  const row = await waitForRow(chatId, isAnswered, 60_000);
  if (row) tell(ledgerLine(row, words, language));
}

async function cutConnections(context: TrialContext): Promise<void> {
  const { words, tell } = context;
  const start = Date.now();
  const server = await postDebug("cut");
  if (!server) return tell(words.off);
  tell(words.cut);
  if (server.node !== undefined) tell(words.oneNode(server.node));
  // The server waits a moment before it cuts, so that it can reply to this request.
  await later(pollMs);
  const startedAt = await poll(() => fetchStart(), longestMs);
  tell(startedAt === undefined ? words.away : words.back(secondsSince(start)));
  await tellLedger(context);
}

async function restartServer(context: TrialContext): Promise<void> {
  const { words, language, tell } = context;
  const start = Date.now();
  const server = await postDebug("restart");
  if (!server) return tell(words.off);
  if (server.node !== undefined) tell(words.oneNode(server.node));
  const startedAt = await poll(async () => {
    const now = await fetchStart(server.process);
    return now === server.startedAt ? undefined : now;
  }, longestMs);
  if (startedAt === undefined) return tell(words.away);
  tell(words.restarted(secondsSince(start), clockTime(startedAt, language)));
  await tellLedger(context);
}

async function letExpire({ chatId, words, language, send, expiringSentence, tell }: TrialContext): Promise<void> {
  const known = new Set((await fetchLedger(chatId)).approvals.map(({ approvalId }) => approvalId));
  send(expiringSentence);
  const asked = await waitForRow(chatId, ({ approvalId }) => !known.has(approvalId));
  if (!asked) return tell(words.notAsked);
  if (asked.expiresAt !== undefined) tell(words.expires(clockTime(asked.expiresAt, language)));
  const row = await waitForRow(
    chatId,
    ({ approvalId, state }) => approvalId === asked.approvalId && isAtRest(state),
    60_000,
  );
  if (row) tell(ledgerLine(row, words, language));
}

async function tellLedger({ chatId, words, language, tell }: TrialContext): Promise<void> {
  const { approvals } = await fetchLedger(chatId);
  tell(words.unchanged(approvals.length));
  for (const row of approvals.slice(-5)) tell(ledgerLine(row, words, language));
}

/** Whether the row will not move by itself soon: it is over, or waits for a report from outside. */
function isAtRest(state: ApprovalView["state"]): boolean {
  return state !== "pending" && state !== "approved" && state !== "executing";
}

async function countPayments(): Promise<number> {
  return (await fetchWallet())?.payments.length ?? 0;
}

function waitForRow(
  chatId: string,
  fits: (row: ApprovalView) => boolean,
  ms = longestMs,
): Promise<ApprovalView | undefined> {
  return poll(async () => (await fetchLedger(chatId).catch(() => undefined))?.approvals.find(fits), ms);
}

/** Asks again and again until there is an answer, for at most so long. */
async function poll<T>(ask: () => Promise<T | undefined>, ms: number): Promise<T | undefined> {
  for (const end = Date.now() + ms; Date.now() < end; await later(pollMs)) {
    const found = await ask();
    if (found !== undefined) return found;
  }
  return undefined;
}

function later(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function secondsSince(start: number): string {
  return ((Date.now() - start) / 1000).toFixed(1);
}
