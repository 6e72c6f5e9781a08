import type { ApprovalResolution } from "adk-stream-protocol/client";
import { Chat, useChat } from "@ai-sdk/react";
import type { ApprovalData, ApprovalView } from "adk-stream-protocol/protocol";
import {
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type ChatStatus,
  type FileUIPart,
  type UIMessage,
} from "ai";
import { useCallback, useMemo, useRef, useState } from "react";
import { fetchLedger, type MessagePage, postDecision, postResolution, stopTurn } from "./api.ts";
import { approvalDataOf, isDelivering } from "./card-state.ts";
import { cardsOf, type Card } from "./cards.ts";
import { rememberYes, saidYesHere } from "./claim-call.ts";
import { callsToRun, keysToSend } from "./client-tools.ts";
import { isDisconnect } from "./error-sentence.ts";
import { isBusy } from "./is-busy.ts";
import { hasUnsent } from "./merge-messages.ts";
import type { Mode } from "./mode.ts";
import type { Music } from "./music.ts";
import type { Resolved } from "./resolution.ts";
import type { StreamTap } from "./stream-tap.ts";
import { useClientTools } from "./use-client-tools.ts";
import { useFollowServer } from "./use-follow-server.ts";
import { useLedger, type LedgerState } from "./use-ledger.ts";
import { type OlderMessages, useOlderMessages } from "./use-older-messages.ts";
import { type Outbox, useOutbox } from "./use-outbox.ts";
import { useResendAnswers } from "./use-resend-answers.ts";
import { useResume } from "./use-resume.ts";
import { useRevise } from "./use-revise.ts";
import { useSendUnsent } from "./use-send-unsent.ts";
import type { Wires } from "./wires.ts";

export interface BridgeChat {
  messages: UIMessage[];
  status: ChatStatus;
  error: Error | undefined;
  ledger: LedgerState;
  rows: ReadonlyMap<string, ApprovalView>;
  data: ReadonlyMap<string, ApprovalData>;
  /** The browser calls that are running in this page. */
  running: ReadonlySet<string>;
  /** A browser call is about to run, is running, or has a result that has not been sent. */
  isAtWork: boolean;
  cards: ReadonlyMap<string, Card>;
  outbox: Outbox;
  /** The messages before those that the page has. */
  older: OlderMessages;
  send: (text: string, files?: FileUIPart[]) => void;
  /** Sends other words in the place of a message. What follows it is withdrawn. Ends with the request, also if that fails. */
  edit: ((messageId: string, text: string) => Promise<void>) | undefined;
  /** Has a reply made again. What follows it is withdrawn. */
  again: ((messageId: string) => void) | undefined;
  answer: (approvalId: string, approved: boolean, reason?: string) => void;
  resolve: (approvalId: string, resolution: ApprovalResolution) => Promise<Resolved>;
  sendAgain: () => void;
  retry: () => void;
  dismiss: () => void;
  stop: () => void;
}

export interface BridgeChatOptions {
  chatId: string;
  initialPage: MessagePage;
  tap: StreamTap;
  wires: Wires;
  mode: Mode;
  music: Music;
}

const doubleClickMs = 1000;

/**
 * AI SDK's `useChat` and what this page adds to it. The page follows the ledger, shows turns that it did not start, runs
 * browser tools, and sends the answers and results that `useChat` does not send by itself. Code that changes
 * `chat.messages` after waiting first checks that they are still the same.
 */
export function useBridgeChat(options: BridgeChatOptions): BridgeChat {
  const { chatId, initialPage, tap, wires, mode, music } = options;
  const [chat] = useState(
    () =>
      new Chat<UIMessage>({
        id: chatId,
        messages: initialPage.messages,
        transport: wires,
        sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
      }),
  );
  const { messages: chatMessages, status, error } = useChat({ chat });

  const busy = isBusy(status);
  const startsEmpty = initialPage.messages.length === 0;
  // The server does not know the chat before it has the first message, so there is nothing to ask for.
  const isNew = chatMessages.length === 0 || (chatMessages.length === 1 && startsEmpty && status === "submitted");
  const ledger = useLedger(chatId, { isNew, busy });
  const { refresh, approvals } = ledger;
  const rows = useMemo(() => new Map(approvals.map((row) => [row.approvalId, row])), [approvals]);
  const data = useMemo(() => approvalDataOf(chatMessages), [chatMessages]);
  // Drawn messages can be a moment older than the chat's own. Actions use the chat's own messages and status.
  const readFacts = useCallback(
    () => ({ messages: chat.messages, data: approvalDataOf(chat.messages), rows: approvals }),
    [chat, approvals],
  );

  const answered = useRef(new Map<string, { at: number; approved: boolean }>());
  const ranHere = useRef(new Set<string>());
  const sent = useRef(new Set<string>());
  const [running, setRunning] = useState<ReadonlySet<string>>(new Set());
  const drawnFacts = { messages: chatMessages, data, rows: approvals };
  const isAtWork =
    callsToRun(drawnFacts, new Set(), saidYesHere).length > 0 ||
    keysToSend(drawnFacts, ranHere.current, sent.current).some((key) => key.startsWith("output:"));

  const resuming = useResume(chat, chatMessages, busy);
  const { messages, resume, inBackground, setInBackground } = resuming;

  const lastBusyAt = useRef(0);
  if (busy) lastBusyAt.current = Date.now();
  const answeredAt = useRef(0);
  const delivering = isDelivering({
    status,
    answeredAt: answeredAt.current,
    lastBusyAt: lastBusyAt.current,
    ledgerAt: ledger.askedAt,
  });

  const cards = useMemo(
    () => cardsOf(messages, { data, rows, running, delivering, given: answered.current }),
    [messages, data, rows, running, delivering],
  );

  const { older, onPage } = useOlderMessages(chat, { chatId, initialPage });
  // The order of these three matters: each one reads a status that the one before it may have changed.
  const takeMessages = useFollowServer({
    chat,
    chatId,
    startsEmpty,
    tap,
    wires,
    status,
    ledger,
    rows,
    resuming,
    ranHere,
    onPage,
    lastBusyAt,
  });
  const { askedAt } = ledger;
  useClientTools({ chat, chatMessages, status, readFacts, approvals, askedAt, music, setRunning, ranHere });
  useSendUnsent({ chat, chatMessages, status, readFacts, wires, refresh, running, ranHere, sent });

  const readMessages = useCallback(() => takeMessages(rows), [takeMessages, rows]);
  const outbox = useOutbox({ chat, chatId, chatMessages, status, readMessages });
  const { setAside } = outbox;
  const isUnsent = outbox.unsentId !== undefined;

  // ── what a person does ───────────────────────────────────────────────────────────────────────────────────────────
  const send = useCallback(
    (text: string, files: FileUIPart[] = []) => {
      const post = () => {
        setInBackground(false);
        void chat.sendMessage(text === "" ? { files } : { text, files });
      };
      if (isUnsent) void setAside().then(post);
      else post();
    },
    [chat, isUnsent, setAside, setInBackground],
  );
  const { edit, again, repeatEdit } = useRevise(chat, { isUnsent, setAside, setInBackground });
  const answer = useCallback(
    (approvalId: string, approved: boolean, reason?: string) => {
      const now = Date.now();
      // Ignore the second click of a double click. A later answer to the same card counts: its question may be open again.
      if (now - (answered.current.get(approvalId)?.at ?? 0) < doubleClickMs) return;
      answered.current.set(approvalId, { at: now, approved });
      answeredAt.current = now;
      if (approved) rememberYes(approvalId);
      setInBackground(false);
      // The chat sends one request at a time. An answer to another message's card does not wait for the current reply.
      if (mode === "bidi" && isBusy(chat.status) && !hasQuestion(chat.messages.at(-1), approvalId))
        postDecision(approvalId, approved, reason).then(refresh, () => undefined);
      void chat.addToolApprovalResponse({ id: approvalId, approved, ...(reason ? { reason } : {}) });
    },
    [chat, mode, refresh, setInBackground],
  );
  const resolve = useCallback(
    async (approvalId: string, resolution: ApprovalResolution) => {
      const resolved = await postResolution(approvalId, resolution);
      refresh();
      return resolved;
    },
    [refresh],
  );
  const sendAgain = useCallback(async () => {
    if (isBusy(chat.status)) return;
    setInBackground(false);
    // A message that was sent after the lost answer is lost too. Send it again after the answer.
    const last = chat.messages.at(-1);
    const lost = chat.status === "error" && last?.role === "user" ? last : undefined;
    if (lost) chat.messages = chat.messages.slice(0, -1);
    await chat.sendMessage();
    if (lost) await chat.sendMessage({ parts: lost.parts });
  }, [chat, setInBackground]);
  const { offline } = ledger;
  const isLost = status === "error" && isDisconnect(error);
  const resend = useCallback(() => void sendAgain(), [sendAgain]);
  useResendAnswers({ cards, isLost, reachedAt: offline ? undefined : askedAt, sendAgain: resend });
  const dismiss = useCallback(async () => {
    await setAside();
    chat.clearError();
  }, [chat, setAside]);
  const retry = useCallback(async () => {
    if (isBusy(chat.status) || repeatEdit()) return;
    const now = await fetchLedger(chatId).catch(() => undefined);
    const taken =
      now && (await takeMessages(new Map(now.approvals.map((row) => [row.approvalId, row]))).catch(() => undefined));
    if (!now || !taken || isBusy(chat.status)) return;
    setInBackground(false);
    // The server shows an error a moment before the turn is over. Such a turn has nothing more to resume.
    const hasFailed =
      chat.error !== undefined && !isDisconnect(chat.error) && haveSameLastMessage(chat.messages, taken.server);
    if (now.running && !hasFailed) resume();
    else if (hasUnsent(taken.merged, taken.server)) await chat.sendMessage();
    else if (isDisconnect(chat.error) || taken.merged.length === 0) chat.clearError();
    else await chat.regenerate();
  }, [chat, chatId, resume, takeMessages, setInBackground, repeatEdit]);
  const stop = useCallback(async () => {
    // Over the WebSocket `chat.stop` tells the server. Over HTTP it only closes the response, so tell the server first.
    if (mode === "sse") await stopTurn(chatId).catch(() => undefined);
    await chat.stop();
    refresh();
  }, [chat, chatId, mode, refresh]);

  return {
    messages,
    status,
    error: inBackground ? undefined : error,
    ledger,
    rows,
    data,
    running,
    isAtWork,
    cards,
    outbox,
    older,
    send,
    edit,
    again,
    answer,
    resolve,
    sendAgain: () => void sendAgain(),
    retry: () => void retry(),
    dismiss: () => void dismiss(),
    stop: () => void stop(),
  };
}

function hasQuestion(message: UIMessage | undefined, approvalId: string): boolean {
  return message?.parts.some((part) => isToolUIPart(part) && part.approval?.id === approvalId) ?? false;
}

/** Whether the user's last message is the same in both: no one has written since. */
function haveSameLastMessage(here: readonly UIMessage[], server: readonly UIMessage[]): boolean {
  const lastId = (messages: readonly UIMessage[]) => messages.findLast(({ role }) => role === "user")?.id;
  return lastId(here) === lastId(server);
}
