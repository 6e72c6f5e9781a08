import type { UIMessage } from "ai";
import type { ApprovalData, ApprovalView } from "../protocol/approval.ts";
import { approvalDataOf, approvalInfo, isAskedPart } from "./approval-info.ts";
import { approvalOutbox, type OutboxOptions } from "./approval-outbox.ts";
import type { ApprovalInfo, ApprovalResolution, ChatApprovals } from "./chat-approvals.ts";
import { poll, type PollOptions } from "./poll.ts";
import { approvalPath, type ServerOptions, type ServerReply, serverRequests } from "./server-requests.ts";
import { watched } from "./watched.ts";

/** Where approvals are read, and how answers are sent. All may be left out. */
export interface LedgerOptions
  extends
    ServerOptions,
    PollOptions,
    Pick<OutboxOptions, "actor" | "storage" | "maxAttempts" | "maxAgeMs" | "now" | "random" | "timers"> {}

interface KnownApprovals extends ChatApprovals {
  subscribe(listener: () => void): () => void;
  /** Asks the server now. */
  refresh(): Promise<void>;
  /** Begins: sends answers that were left, and asks the server until `close`. */
  open(): void;
  close(): void;
}

export type ApprovalLedger = ReturnType<typeof approvalLedger>;

/**
 * The approvals that a page knows, and the way to answer them: those of one chat, or of all chats, which has no messages.
 * `ask` asks the server for what is new, now and then unless that `isPaused`. `onDecided` is called when the server has
 * recorded a decision about an answer of this page.
 */
export function approvalLedger(
  options: LedgerOptions,
  chat: { readonly id?: string; readonly messages: readonly UIMessage[] },
  ask: () => Promise<void>,
  isPaused?: () => boolean | undefined,
  onDecided?: (decided: ApprovalView) => Promise<void>,
) {
  const server = serverRequests(options);
  const version = watched(0);
  /** The server's rows. */
  const rows = new Map<string, ApprovalView>();
  /** What streams have reported and the messages may not have yet. */
  const reports = new Map<string, ApprovalData>();
  let clockOffset = 0;
  let infos = new Map<string, ApprovalInfo>();
  /** The messages of which `infos` was made; undefined when something else has changed. */
  let made: readonly UIMessage[] | undefined;
  const changed = () => {
    made = undefined;
    version.set(version.get() + 1);
  };
  const { refresh, open, close } = poll(ask, options, isPaused);
  const outbox = approvalOutbox(options, server, chat.id, async ({ decided }) => {
    if (decided) {
      rows.set(decided.approvalId, decided);
      await onDecided?.(decided);
    }
    changed();
  });

  function current(): Map<string, ApprovalInfo> {
    const { messages, id: chatId } = chat;
    if (made === messages) return infos;
    const asked = messages.flatMap(({ parts }) => parts.filter(isAskedPart));
    const parts = new Map(asked.map((part) => [part.approval.id, part]));
    const data = new Map([...reports, ...approvalDataOf(messages)]);
    const next = new Map<string, ApprovalInfo>();
    for (const id of new Set([...parts.keys(), ...rows.keys()])) {
      const info = approvalInfo(id, {
        part: parts.get(id),
        data: data.get(id),
        row: rows.get(id),
        answer: outbox.get(id),
        chatId,
        clockOffset,
      });
      const before = infos.get(id);
      next.set(id, JSON.stringify(before) === JSON.stringify(info) ? before! : info);
    }
    made = messages;
    return (infos = next);
  }

  const approvals: KnownApprovals = {
    get: (approvalId) => current().get(approvalId),
    list: () => [...current().values()],
    answer: outbox.send,
    retry(approvalId) {
      const answer = outbox.get(approvalId);
      // If it fails again, the card says so.
      if (answer) outbox.send(approvalId, answer).catch(() => undefined);
    },
    async resolve(approvalId: string, resolution: ApprovalResolution) {
      await server.read(`${approvalPath(approvalId)}/resolution`, { body: resolution });
      await refresh();
    },
    subscribe: version.subscribe,
    refresh,
    open() {
      outbox.open();
      open();
    },
    close() {
      close();
      outbox.close();
    },
  };

  return {
    server,
    approvals,
    rows,
    reports,
    outbox,
    changed,
    version: version.get,
    /** Takes rows from the server. It can be reached. */
    receive(reply: ServerReply<{ approvals: ApprovalView[] }>): void {
      ({ clockOffset } = reply);
      for (const row of reply.body.approvals) rows.set(row.approvalId, row);
      outbox.wake();
    },
  };
}
