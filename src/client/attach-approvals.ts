import type { AbstractChat, UIMessage, UIMessageChunk } from "ai";
import type { ApprovalData } from "../protocol/approval.ts";
import { isAskedPart } from "./approval-info.ts";
import { approvalLedger, type LedgerOptions } from "./approval-ledger.ts";
import type { ChatApprovals } from "./chat-approvals.ts";
import { chatSync, type ChatSyncOptions, isBusy, type SyncState } from "./chat-sync.ts";
import { isHidden } from "./watch-return.ts";

/** How `attachApprovals` works. Only `transport` is required. */
export interface AttachOptions<UI_MESSAGE extends UIMessage> extends LedgerOptions, ChatSyncOptions<UI_MESSAGE> {}

/** The approvals of a chat, with what a page needs to stay up to date. */
export interface AttachedApprovals extends ChatApprovals {
  subscribe(listener: () => void): () => void;
  /** Changes whenever something else changes here, for `useSyncExternalStore`. */
  readonly version: number;
  readonly sync: SyncState;
  /** True while the step of a call is being read. Whether the call needs an approval is known after it. */
  isArriving(toolCallId: string): boolean;
  /** Asks the server now whether the chat has gone on. */
  refresh(): Promise<void>;
  /** Reads older messages than those of the page: as many as a page has, or `limit`. */
  loadOlder(limit?: number): Promise<boolean>;
  /** Sends a message of `sync.unsent` again: an edit in its place, a new message as the last one. */
  resend(messageId: string): Promise<void>;
  /** Removes a message of `sync.unsent`. Of an edit the message comes back as the server has it. */
  discard(messageId: string): void;
  /** Begins: reads the chat's messages, sends answers that were left, and follows the chat until `close`. */
  open(): void;
  close(): void;
}

/**
 * Gives any AI SDK chat acknowledged answers, sent beside its open stream, and keeps it up to date with the server. The
 * chat's own `addToolApprovalResponse` goes through the outbox from now on: its part is `approval-responded` when the
 * server has recorded a decision, and not before.
 */
export function attachApprovals<UI_MESSAGE extends UIMessage>(
  chat: AbstractChat<UI_MESSAGE>,
  options: AttachOptions<UI_MESSAGE>,
): AttachedApprovals {
  const { transport } = options;
  const record = chat.addToolApprovalResponse;

  const onDecided = async (decided: ApprovalData) => {
    await recordDecision(decided);
    sync.onEnd();
  };
  // A page that is shown again asks at once.
  const ledger = approvalLedger(options, chat, () => sync.ask(), isHidden, onDecided);
  const { changed, outbox, reports, approvals } = ledger;
  const { refresh } = approvals;
  const sync = chatSync(chat, ledger, options, () => arriving.clear());

  /** Gives the part of a call its decision, as AI SDK does. Does nothing for a part that has one. True if no one answered. */
  async function recordDecision(data: ApprovalData): Promise<boolean> {
    const { approvalId, state } = data;
    const asks = chat.messages.find(({ parts }) =>
      parts.some((part) => isAskedPart(part) && part.approval.id === approvalId && part.state === "approval-requested"),
    );
    const isClosed = isUnanswered(data);
    if (!asks || state === "pending") return false;
    // Outside the message that is being read, the outcome comes with the server's messages.
    if (isClosed && (!isBusy(chat) || asks !== chat.messages.at(-1))) return false;
    await record(decisionOf(data));
    return isClosed;
  }

  const arriving = new Set<string>();
  /** The decisions about calls, by the ids of the calls. A stream that repeats their message leaves out the questions. */
  const decisions = new Map<string, ReturnType<typeof decisionOf>>();
  async function* onChunk(chunk: UIMessageChunk): AsyncGenerator<UIMessageChunk> {
    const { type } = chunk;
    if (type === "data-approval") {
      const data = chunk.data as ApprovalData;
      reports.set(data.approvalId, data);
      if (data.state !== "pending") decisions.set(data.toolCallId, decisionOf(data));
      if (chunk.transient) return;
      const isClosed = await recordDecision(data);
      changed();
      yield chunk;
      // AI SDK has no chunk for a question without an answer. The server's messages show it as a denial, too.
      if (isClosed) yield { type: "tool-output-denied", toolCallId: data.toolCallId };
      return;
    }
    if (type === "tool-input-available") arriving.add(chunk.toolCallId);
    if (type === "finish-step") {
      arriving.clear();
      changed();
    }
    const decision = "toolCallId" in chunk ? decisions.get(chunk.toolCallId) : undefined;
    if (decision && type === "tool-output-error" && !decision.approved)
      yield { type: "tool-output-denied", toolCallId: chunk.toolCallId };
    else if (type !== "tool-approval-request" || !decision) yield chunk;
    if (type === "tool-input-available" && decision) {
      yield { type: "tool-approval-request", approvalId: decision.id, toolCallId: chunk.toolCallId };
      await record(decision);
    }
  }
  const onArrival = ({ type }: UIMessageChunk) => {
    // The ledger has what a card shows beside the arguments; a turn that no stream shows changes the chat.
    if (type === "tool-approval-request" || (type === "start" && !isBusy(chat))) void refresh();
  };
  chat.addToolApprovalResponse = ({ id, ...answer }) => outbox.send(id, answer);

  transport.subscribe(() => {
    if (transport.getState().status === "open") outbox.wake();
  });

  return {
    ...approvals,
    get version() {
      return ledger.version();
    },
    get sync() {
      return sync.state();
    },
    isArriving: (toolCallId) => arriving.has(toolCallId),
    loadOlder: sync.loadOlder,
    resend: sync.resend,
    discard: sync.discard,
    open() {
      transport.hooks = { onOpen: sync.onOpen, onChunk, onArrival, onEnd: sync.onEnd };
      sync.open();
      approvals.open();
    },
    close() {
      transport.hooks = {};
      sync.close();
      approvals.close();
      // To leave a stream is no error. A message that the server may not have is one.
      transport.release();
      transport.close();
    },
  };
}

function isUnanswered({ state, decidedBy }: ApprovalData): boolean {
  return decidedBy === undefined && (state === "expired" || state === "cancelled");
}

/** The decision in the words of AI SDK, which knows no question without an answer. */
function decisionOf(data: ApprovalData): { id: string; approved: boolean; reason?: string } {
  const { approvalId: id, state, reason, errorText } = data;
  const isClosed = isUnanswered(data);
  return { id, approved: state !== "denied" && !isClosed, reason: reason ?? (isClosed ? errorText : undefined) };
}
