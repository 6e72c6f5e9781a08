import type { Chat } from "@ai-sdk/react";
import type { ApprovalView } from "adk-stream-protocol/protocol";
import type { ChatStatus, UIMessage } from "ai";
import { useCallback, useEffect, useRef, type RefObject } from "react";
import { fetchMessages, type MessagePage } from "./api.ts";
import { isDisconnect } from "./error-sentence.ts";
import { isBusy } from "./is-busy.ts";
import { hasUnsent, mergeMessages } from "./merge-messages.ts";
import { withOlderMessages } from "./older-messages.ts";
import { showsMore } from "./shows-more.ts";
import type { StreamTap } from "./stream-tap.ts";
import type { LedgerState } from "./use-ledger.ts";
import type { Resume } from "./use-resume.ts";
import type { Wires } from "./wires.ts";

export interface FollowServerOptions {
  chat: Chat<UIMessage>;
  chatId: string;
  /** The chat was created in this page, so the server has no messages yet. */
  startsEmpty: boolean;
  tap: StreamTap;
  wires: Wires;
  status: ChatStatus;
  ledger: LedgerState;
  rows: ReadonlyMap<string, ApprovalView>;
  resuming: Pick<Resume, "resume" | "inBackground" | "setInBackground">;
  /** The calls that ran in this page. */
  ranHere: RefObject<ReadonlySet<string>>;
  /** Told of every new page, with the messages that it makes together with older ones. */
  onPage: (page: MessagePage, server: readonly UIMessage[]) => void;
  /** When the chat was last busy, by the browser's clock. */
  lastBusyAt: RefObject<number>;
}

/**
 * Takes over the server's messages, merged with the page's. Returns nothing if the chat changed meanwhile, or if `waits`
 * says that the page should wait for more.
 */
export type TakeMessages = (
  rows: ReadonlyMap<string, ApprovalView>,
  waits?: (server: readonly UIMessage[]) => boolean,
) => Promise<{ server: UIMessage[]; merged: UIMessage[] } | undefined>;

/** For so long after a lost connection the page keeps words that the server does not have: another process goes on. */
const keepMs = 10_000;
const askAgainMs = 300;

/** Shows turns that this page did not start: those of another tab, of an expiry, or of a decision made elsewhere. */
export function useFollowServer(options: FollowServerOptions): TakeMessages {
  const { chat, chatId, startsEmpty, tap, wires, status, ledger, rows, ranHere, onPage, lastBusyAt } = options;
  const { resume, inBackground, setInBackground } = options.resuming;
  const { askedAt, offline, sequence, running: generating, refresh } = ledger;
  const seenSequence = useRef(startsEmpty ? 0 : -1);
  const takeMessages = useCallback<TakeMessages>(
    async (currentRows, waits) => {
      const before = chat.messages;
      const page = await fetchMessages(chatId);
      if (chat.messages !== before || isBusy(chat.status)) return undefined;
      const server = withOlderMessages(before, page);
      if (waits?.(server)) return undefined;
      onPage(page, server);
      const failed = chat.status === "error";
      const merged = mergeMessages(server, before, { rows: currentRows, ranHere: ranHere.current, failed });
      if (JSON.stringify(merged) !== JSON.stringify(before)) chat.messages = merged;
      return { server, merged };
    },
    [chat, chatId, ranHere, onPage],
  );

  // Each ledger response is used once, and only if it was requested after the chat's last request.
  const usedAt = useRef(0);
  /** The page waits for a reply whose server died to go on. */
  const isWaiting = useRef(false);
  useEffect(() => {
    if (askedAt === usedAt.current || askedAt <= lastBusyAt.current || offline || isBusy(chat.status)) return;
    usedAt.current = askedAt;
    if (generating && (chat.status === "ready" || (isDisconnect(chat.error) && (!inBackground || isWaiting.current)))) {
      isWaiting.current = false;
      resume();
      return;
    }
    if (sequence === seenSequence.current) return;
    const waits = (server: readonly UIMessage[]) => {
      const isRecent = Date.now() - lastBusyAt.current < keepMs;
      isWaiting.current = isRecent && isDisconnect(chat.error) && showsMore(chat.messages, server);
      if (!isWaiting.current) return false;
      setInBackground(true);
      setTimeout(refresh, askAgainMs);
      return true;
    };
    takeMessages(rows, waits)
      .then((taken) => {
        if (!taken) return;
        seenSequence.current = sequence;
        if ((inBackground || isDisconnect(chat.error)) && !hasUnsent(taken.merged, taken.server)) chat.clearError();
      })
      .catch(() => undefined);
  }, [
    askedAt,
    offline,
    sequence,
    generating,
    rows,
    inBackground,
    setInBackground,
    chat,
    takeMessages,
    resume,
    refresh,
    lastBusyAt,
  ]);

  useEffect(() => {
    return tap.onChunk((type) => {
      const asksOrEnds = type === "start" || type === "start-step" || type === "parked" || type === "finish";
      if (type === "data-approval" || type.startsWith("tool-output") || asksOrEnds) refresh();
    });
  }, [tap, refresh]);
  const busy = isBusy(status);
  useEffect(() => {
    if (!busy) refresh();
  }, [busy, refresh]);
  // The ledger request succeeded, so the server is reachable: reconnect the WebSocket now.
  useEffect(() => {
    const socket = wires.connection()?.status;
    if (offline || socket === undefined) return;
    if (socket === "closed") wires.connect();
    else if (socket === "reconnecting") wires.reconnectNow();
  }, [askedAt, offline, wires]);
  // Tell the other tabs of this browser at once, so that they do not wait for their next poll.
  useEffect(() => {
    const others = new BroadcastChannel(`chat:${chatId}`);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has one origin, its own
    others.postMessage(status);
    others.addEventListener("message", refresh);
    return () => others.close();
  }, [chatId, status, refresh]);

  return takeMessages;
}
