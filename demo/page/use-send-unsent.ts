import type { Chat } from "@ai-sdk/react";
import { lastAssistantMessageIsCompleteWithApprovalResponses, type ChatStatus, type UIMessage } from "ai";
import { useEffect, type RefObject } from "react";
import { keysToSend, lateResults, type ChatFacts } from "./client-tools.ts";
import { isBusy } from "./is-busy.ts";
import type { Wires } from "./wires.ts";

export interface SendUnsentOptions {
  chat: Chat<UIMessage>;
  chatMessages: UIMessage[];
  status: ChatStatus;
  readFacts: () => ChatFacts;
  wires: Wires;
  refresh: () => void;
  running: ReadonlySet<string>;
  ranHere: RefObject<ReadonlySet<string>>;
  /** The keys that were sent. New ones are added here. */
  sent: RefObject<Set<string>>;
}

/** Sends the answers and the browser tools' results that `useChat` does not send by itself. */
export function useSendUnsent(options: SendUnsentOptions): void {
  const { chat, chatMessages, status, readFacts, wires, refresh, running, ranHere, sent } = options;
  useEffect(() => {
    if (isBusy(chat.status)) return;
    if (lastAssistantMessageIsCompleteWithApprovalResponses({ messages: chat.messages })) return;
    const keys = keysToSend(readFacts(), ranHere.current, sent.current);
    // The results of one step are sent together. An answer does not wait for a tool.
    if (keys.length === 0 || (running.size > 0 && keys.every((key) => key.startsWith("output:")))) return;
    for (const key of keys) sent.current.add(key);
    const late = wires.sendResult ? lateResults(keys, chat.messages) : [];
    for (const { key, toolCallId, result } of late)
      wires.sendResult?.(toolCallId, result).then(refresh, () => void sent.current.delete(key));
    if (late.length < keys.length) void chat.sendMessage();
  }, [chat, readFacts, chatMessages, running, status, wires, refresh, ranHere, sent]);
}
