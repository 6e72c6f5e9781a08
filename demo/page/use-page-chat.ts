import type { ApprovalInfo } from "adk-stream-protocol/client";
import { type AgentChatHelpers, useAgentChat, useClientTools } from "adk-stream-protocol/react";
import { type FileUIPart, isToolUIPart, type UIMessage } from "ai";
import { useContext, useEffect, useMemo, useRef } from "react";
import { browserTools, createBrowserTools, DemoContext } from "./browser-tools.ts";
import { isDisconnect } from "./error-sentence.ts";
import { failureOf } from "./failure-of.ts";
import { firstParts } from "./first-parts.ts";
import { editedParts } from "./message-text.ts";
import type { Mode } from "./mode.ts";
import type { Music } from "./music.ts";
import { cardsOf, type ShownChat } from "./shown-chat.ts";
import type { StreamTap } from "./stream-tap.ts";
import { type KeptMessages, useKeptMessages } from "./use-kept-messages.ts";
import { type LedgerState, useLedger } from "./use-ledger.ts";
import { type OlderMessages, useOlderMessages } from "./use-older-messages.ts";
import { useStepEnded } from "./use-step-ended.ts";
import { withLedger } from "./with-ledger.ts";

/** The open chat, as the page needs it. */
export interface PageChat extends Required<ShownChat> {
  /** False until the messages have been read. */
  isLoaded: boolean;
  error: Error | undefined;
  /** Why the page does not have what the server has. */
  problem: string | undefined;
  /** Asks the server now. */
  refresh: () => void;
  /** The last request failed. */
  hasFailed: boolean;
  /** A tool runs in this page, its result is on its way, or the chat is read again in the other mode. */
  isAtWork: boolean;
  connection: AgentChatHelpers["connection"];
  /** The calls that need a yes, and what became of them. */
  cards: readonly ApprovalInfo[];
  ledger: LedgerState;
  older: OlderMessages;
  kept: KeptMessages;
  send: (text: string, files?: FileUIPart[]) => void;
  sendKept: (message: UIMessage) => void;
  dismiss: () => void;
  stop: () => void;
}

export interface PageChatOptions {
  chatId: string;
  /** The page has just created this chat, so there is nothing to read. */
  isNew: boolean;
  tap: StreamTap;
  mode: Mode;
  music: Music;
}

/** How often the page asks what was decided and reported elsewhere: people look at two windows side by side. */
const pollMs = 1200;

/** The page's chat: `useAgentChat` with the demo's browser tools, its ledger and the older messages. */
export function usePageChat({ chatId, isNew, tap, mode, music }: PageChatOptions): PageChat {
  const isDemo = useContext(DemoContext);
  const current = useAgentChat({
    id: chatId,
    transport: mode === "bidi" ? "websocket" : "sse",
    fetch: tap.fetch,
    webSocket: tap.webSocket,
    pollMs,
  });
  const { chat, approvals: all, connection, sendMessage, regenerate, clearError, stop } = current;
  const tools = useMemo(() => createBrowserTools(music, () => chat.messages), [music, chat]);
  useClientTools(current, isDemo ? tools : noTools);

  // The other mode is another chat, which reads the messages again. Until then the page shows what it had.
  const first = useRef(chat);
  const shown = useRef<typeof current>(undefined);
  const hasMessages = current.isLoaded || chat.messages.length > 0 || (isNew && chat === first.current);
  // React draws the chat's messages a moment after it has them.
  const areDrawn = current.messages.length === chat.messages.length;
  const isCurrent = shown.current?.chat === chat || (hasMessages && areDrawn);
  if (isCurrent) shown.current = current;
  const view = shown.current ?? current;
  const { messages, unsent, error, status, problem } = view;

  const ledger = useLedger(chatId, tap, { version: all.version, status });
  const approvals = useMemo(() => withLedger(view.approvals, ledger.approvals), [view.approvals, ledger.approvals]);
  const cards = useMemo(() => cardsOf(messages, approvals), [messages, approvals]);
  const last = messages.at(-1);
  const runsTool = isDemo && hasBrowserCall(last, approvals);
  const waits = runsTool || cardsOf(last ? [last] : [], approvals).some(({ state }) => waitsForSomeone.has(state));
  const isPaused = useStepEnded(tap) && waits;
  // The page asks by itself whether a reply goes on, which is nothing to see yet.
  const isSending = status === "submitted" && !view.chat.replayed.isReplaying;
  const isBusy = isSending || (status === "streaming" && !isPaused);

  const older = useOlderMessages(view);
  const kept = useKeptMessages(chatId, messages, unsent);
  // The header shows whether the socket is open, so it is opened before the first message.
  const opensSocket = mode === "bidi" && current.isLoaded && !ledger.offline;
  useEffect(() => {
    const isClosed = ["idle", "closed"].includes(chat.connection.getState().status);
    if (opensSocket && isClosed) void chat.resumeStream();
  }, [opensSocket, chat]);

  const discard = (messageId: string) => {
    kept.forget(messageId);
    current.discard(messageId);
  };
  // What is shown may be older than the chat.
  const find = (messageId: string) => chat.messages.find(({ id }) => id === messageId);
  const again = (messageId: string) => {
    if (find(messageId)) void regenerate({ messageId });
  };
  const retry = () => {
    if (last && unsent.includes(last.id)) return void current.resend(last.id);
    if (last && (error ? !isDisconnect(error) : failureOf(last) !== undefined)) return again(last.id);
    clearError();
    void all.refresh();
  };
  // A page that only followed a reply goes on by itself when the connection is back.
  const goesOn = isDisconnect(error) && last?.role === "assistant";

  return {
    messages,
    approvals,
    clockOffset: 0,
    isBusy,
    error: goesOn ? undefined : error,
    unsent,
    resend: (messageId) => void current.resend(messageId),
    discard,
    edit(messageId, text) {
      const message = find(messageId);
      if (message)
        void sendMessage({ parts: editedParts(message, text), messageId } as Parameters<typeof sendMessage>[0]);
    },
    again,
    retry,
    isLoaded: shown.current !== undefined,
    problem,
    refresh: () => void all.refresh(),
    hasFailed: status === "error",
    isAtWork: runsTool || !isCurrent,
    connection,
    cards,
    ledger,
    older,
    kept,
    send: (text, files = []) => void sendMessage(text === "" ? { files } : { text, files }),
    sendKept(message) {
      kept.forget(message.id);
      void sendMessage(message as Parameters<typeof sendMessage>[0]);
    },
    dismiss: clearError,
    stop: () => void stop(),
  };
}

const noTools = {};

/** A reply that has come to such a card goes on when someone has acted. */
const waitsForSomeone: ReadonlySet<string> = new Set(["asked", "unsent", "waiting"]);

/** Whether a message has a call of a browser tool that may run and has no result yet. */
function hasBrowserCall(message: UIMessage | undefined, approvals: ShownChat["approvals"]): boolean {
  return firstParts(message?.parts ?? []).some((part) => {
    if (!isToolUIPart(part) || !browserTools.has(part.type.slice("tool-".length))) return false;
    const asked = part.approval && approvals.get(part.approval.id)?.state;
    return asked === undefined ? part.state === "input-available" : asked === "approved" || asked === "waiting";
  });
}
