import { Chat, useChat } from "@ai-sdk/react";
import type { ApprovalData, ApprovalView } from "adk-stream-protocol/protocol";
import { isToolUIPart, lastAssistantMessageIsCompleteWithApprovalResponses, type ChatStatus, type UIMessage } from "ai";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { fetchLedger, fetchMessages, postDecision, stopTurn } from "./api.ts";
import { approvalDataOf, isDelivering } from "./card-state.ts";
import { cardsOf, type Card } from "./cards.ts";
import { claimCall, rememberYes, saidYesHere } from "./claim-call.ts";
import { callsToRun, isOpenCall, keysToSend, lateResults, type ClientCall } from "./client-tools.ts";
import { isDisconnect } from "./error-sentence.ts";
import { holdBack } from "./hold-back.ts";
import { hasUnsent, mergeMessages } from "./merge-messages.ts";
import type { Mode } from "./mode.ts";
import type { Music } from "./music.ts";
import { runClientTool } from "./run-client-tool.ts";
import type { StreamTap } from "./stream-tap.ts";
import { useLedger, type LedgerState } from "./use-ledger.ts";
import type { Wires } from "./wires.ts";

export interface BridgeChat {
  messages: UIMessage[];
  status: ChatStatus;
  error: Error | undefined;
  ledger: LedgerState;
  rows: ReadonlyMap<string, ApprovalView>;
  data: ReadonlyMap<string, ApprovalData>;
  /** Browser calls that run in this page right now. */
  running: ReadonlySet<string>;
  /** A browser call is to run, runs, or has a result that is still to be sent. */
  isAtWork: boolean;
  cards: ReadonlyMap<string, Card>;
  send: (text: string) => void;
  answer: (approvalId: string, approved: boolean, reason?: string) => void;
  sendAgain: () => void;
  retry: () => void;
  dismiss: () => void;
  stop: () => void;
}

export interface BridgeChatOptions {
  chatId: string;
  initialMessages: UIMessage[];
  tap: StreamTap;
  wires: Wires;
  mode: Mode;
  music: Music;
}

const doubleClickMs = 1000;
const isBusy = (status: ChatStatus) => status === "submitted" || status === "streaming";

/**
 * Stock `useChat`, stock predicate, whichever transport is chosen; around them only what a page needs to tell the truth: it follows
 * the ledger, takes the server's messages when they moved without us, runs browser tools, and sends what the stock
 * predicate does not. Every local change of `chat.messages` happens only if nobody else changed it meanwhile.
 */
export function useBridgeChat(options: BridgeChatOptions): BridgeChat {
  const { chatId, initialMessages, tap, wires, mode, music } = options;
  const [chat] = useState(
    () =>
      new Chat<UIMessage>({
        id: chatId,
        messages: initialMessages,
        transport: wires,
        sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
      }),
  );
  const { messages: live, status, error } = useChat({ chat });

  const busy = isBusy(status);
  // A chat begins with its first message; before the server has it there is nothing to ask about.
  const isNew = live.length === 0 || (live.length === 1 && initialMessages.length === 0 && status === "submitted");
  const ledger = useLedger(chatId, { isNew, busy });
  const { refresh } = ledger;
  const rows = useMemo(() => new Map(ledger.approvals.map((row) => [row.approvalId, row])), [ledger.approvals]);
  const data = useMemo(() => approvalDataOf(live), [live]);
  // What is drawn may be a moment behind the chat; what is done goes by the chat itself, messages and status together.
  const { approvals } = ledger;
  const readFacts = useCallback(
    () => ({ messages: chat.messages, data: approvalDataOf(chat.messages), rows: approvals }),
    [chat, approvals],
  );

  const latest = useRef(approvals);
  useEffect(() => {
    latest.current = approvals;
  }, [approvals]);

  const answered = useRef(new Map<string, number>());
  const started = useRef(new Set<string>());
  const ranHere = useRef(new Set<string>());
  const sent = useRef(new Set<string>());
  const [running, setRunning] = useState<ReadonlySet<string>>(new Set());
  const facts = { messages: live, data, rows: approvals };
  const isAtWork =
    callsToRun(facts, new Set(), saidYesHere).length > 0 ||
    keysToSend(facts, ranHere.current, sent.current).some((key) => key.startsWith("output:"));

  // ── showing: what was there stays there while a resumed stream catches up ────────────────────────────────────────
  const held = useRef<UIMessage[]>([]);
  const messages = useMemo(() => (busy ? holdBack(held.current, live) : live), [busy, live]);
  // Nobody asked for a resumed stream, so nobody is told when one fails: the server's messages follow anyway.
  const [unasked, setUnasked] = useState(false);
  // A chat says that it reads only when there is something to read; until then it need not be asked again.
  const resuming = useRef(false);
  const resume = useCallback(() => {
    if (resuming.current) return;
    held.current = chat.messages;
    setUnasked(true);
    resuming.current = true;
    void chat.resumeStream().then(() => {
      resuming.current = false;
      if (chat.status !== "error") setUnasked(false);
    });
  }, [chat]);
  useEffect(() => {
    if (!busy) held.current = [];
  }, [busy]);

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
    () => cardsOf(messages, { data, rows, running, delivering }),
    [messages, data, rows, running, delivering],
  );

  // ── following: the server moved without us ───────────────────────────────────────────────────────────────────────
  const seenSequence = useRef(initialMessages.length === 0 ? 0 : -1);
  const take = useCallback(
    async (currentRows: ReadonlyMap<string, ApprovalView>) => {
      const before = chat.messages;
      const server = await fetchMessages(chatId);
      if (chat.messages !== before || isBusy(chat.status)) return undefined;
      const failed = chat.status === "error";
      const merged = mergeMessages(server, before, { rows: currentRows, ranHere: ranHere.current, failed });
      if (JSON.stringify(merged) !== JSON.stringify(before)) chat.messages = merged;
      return { server, merged };
    },
    [chat, chatId],
  );

  // Each answer of the ledger is looked at once, and only if it is younger than our last request.
  const { askedAt, offline, sequence, running: generating } = ledger;
  const lookedAt = useRef(0);
  useEffect(() => {
    if (askedAt === lookedAt.current || askedAt <= lastBusyAt.current || offline || isBusy(chat.status)) return;
    lookedAt.current = askedAt;
    if (generating && (chat.status === "ready" || (isDisconnect(chat.error) && !unasked))) {
      resume();
      return;
    }
    if (sequence === seenSequence.current) return;
    take(rows)
      .then((taken) => {
        if (!taken) return;
        seenSequence.current = sequence;
        if ((unasked || isDisconnect(chat.error)) && !hasUnsent(taken.merged, taken.server)) chat.clearError();
      })
      .catch(() => undefined);
  }, [askedAt, offline, sequence, generating, rows, unasked, chat, take, resume]);

  useEffect(() => {
    return tap.onChunk((type) => {
      const asksAndEnds = type === "start" || type === "start-step" || type === "parked" || type === "finish";
      if (type === "data-approval" || type.startsWith("tool-output") || asksAndEnds) refresh();
    });
  }, [tap, refresh]);
  useEffect(() => {
    if (!busy) refresh();
  }, [busy, refresh]);
  // A socket that was given up, or waits to try again, is tried as soon as the server answers otherwise.
  useEffect(() => {
    const socket = wires.connection()?.status;
    if (offline || socket === undefined) return;
    if (socket === "closed") wires.connect();
    else if (socket === "reconnecting") wires.hurry();
  }, [askedAt, offline, wires]);
  // Other tabs of this browser need not wait for their next look.
  useEffect(() => {
    const others = new BroadcastChannel(`chat:${chatId}`);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has one origin, its own
    others.postMessage(status);
    others.addEventListener("message", refresh);
    return () => others.close();
  }, [chatId, status, refresh]);

  // ── browser tools ────────────────────────────────────────────────────────────────────────────────────────────────
  useEffect(() => {
    if (chat.status !== "ready" || document.hidden) return;
    const run = async (call: ClientCall) => {
      started.current.add(call.toolCallId);
      if (!(await claimCall(call.toolCallId))) {
        started.current.delete(call.toolCallId);
        return;
      }
      setRunning((before) => new Set(before).add(call.toolCallId));
      const result = await runClientTool(call, music);
      if (isOpenCall({ messages: chat.messages, rows: latest.current }, call.toolCallId)) {
        ranHere.current.add(call.toolCallId);
        const target = { tool: call.toolName as never, toolCallId: call.toolCallId };
        await chat.addToolOutput(
          "output" in result
            ? { ...target, output: result.output as never }
            : { ...target, state: "output-error", errorText: result.errorText },
        );
      }
      setRunning((before) => new Set([...before].filter((id) => id !== call.toolCallId)));
    };
    for (const call of callsToRun(readFacts(), started.current, saidYesHere)) void run(call);
  }, [chat, readFacts, live, status, music, askedAt]);

  // ── sending what the stock predicate leaves ──────────────────────────────────────────────────────────────────────
  useEffect(() => {
    if (isBusy(chat.status)) return;
    if (lastAssistantMessageIsCompleteWithApprovalResponses({ messages: chat.messages })) return;
    const keys = keysToSend(readFacts(), ranHere.current, sent.current);
    // Results of one step go together; an answer waits for no tool.
    if (keys.length === 0 || (running.size > 0 && keys.every((key) => key.startsWith("output:")))) return;
    for (const key of keys) sent.current.add(key);
    const late = wires.sendResult ? lateResults(keys, chat.messages) : [];
    for (const { key, toolCallId, result } of late)
      wires.sendResult?.(toolCallId, result).then(refresh, () => void sent.current.delete(key));
    if (late.length < keys.length) void chat.sendMessage();
  }, [chat, readFacts, live, running, status, wires, refresh]);

  // ── what a person does ───────────────────────────────────────────────────────────────────────────────────────────
  const send = useCallback(
    (text: string) => {
      setUnasked(false);
      void chat.sendMessage({ text });
    },
    [chat],
  );
  const answer = useCallback(
    (approvalId: string, approved: boolean, reason?: string) => {
      const now = Date.now();
      // A second click may come before the first one's render; much later, a card that asks again may be answered again.
      if (now - (answered.current.get(approvalId) ?? 0) < doubleClickMs) return;
      answered.current.set(approvalId, now);
      answeredAt.current = now;
      if (approved) rememberYes(approvalId);
      setUnasked(false);
      // The chat sends one thing at a time. An answer about something else than what it reads need not wait for that.
      if (mode === "bidi" && isBusy(chat.status) && !asksIn(chat.messages.at(-1), approvalId))
        postDecision(approvalId, approved, reason).then(refresh, () => undefined);
      void chat.addToolApprovalResponse({ id: approvalId, approved, ...(reason ? { reason } : {}) });
    },
    [chat, mode, refresh],
  );
  const sendAgain = useCallback(async () => {
    if (isBusy(chat.status)) return;
    setUnasked(false);
    // What was written behind an answer that was lost is lost too, and goes again behind it.
    const last = chat.messages.at(-1);
    const lost = chat.status === "error" && last?.role === "user" ? last : undefined;
    if (lost) chat.messages = chat.messages.slice(0, -1);
    await chat.sendMessage();
    if (lost) await chat.sendMessage({ parts: lost.parts });
  }, [chat]);
  const retry = useCallback(async () => {
    if (isBusy(chat.status)) return;
    const now = await fetchLedger(chatId).catch(() => undefined);
    const taken =
      now && (await take(new Map(now.approvals.map((row) => [row.approvalId, row]))).catch(() => undefined));
    if (!now || !taken || isBusy(chat.status)) return;
    setUnasked(false);
    if (now.running) resume();
    else if (hasUnsent(taken.merged, taken.server)) await chat.sendMessage();
    else if (isDisconnect(chat.error) || taken.merged.length === 0) chat.clearError();
    else await chat.regenerate();
  }, [chat, chatId, resume, take]);
  const stop = useCallback(async () => {
    // A socket says it by itself; over HTTP, closing the response would stop nothing.
    if (mode === "sse") await stopTurn(chatId).catch(() => undefined);
    await chat.stop();
    refresh();
  }, [chat, chatId, mode, refresh]);

  return {
    messages,
    status,
    error: unasked ? undefined : error,
    ledger,
    rows,
    data,
    running,
    isAtWork,
    cards,
    send,
    answer,
    sendAgain: () => void sendAgain(),
    retry: () => void retry(),
    dismiss: chat.clearError,
    stop: () => void stop(),
  };
}

function asksIn(message: UIMessage | undefined, approvalId: string): boolean {
  return message?.parts.some((part) => isToolUIPart(part) && part.approval?.id === approvalId) ?? false;
}
