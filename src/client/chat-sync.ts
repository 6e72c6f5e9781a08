import type { AbstractChat, UIMessage } from "ai";
import type { ApprovalView } from "../protocol/approval.ts";
import { BridgeError } from "../protocol/errors.ts";
import { isToolPart } from "./approval-info.ts";
import type { ApprovalLedger } from "./approval-ledger.ts";
import type { HeldTransport } from "./held-transport.ts";
import { chatPath, lostConnection } from "./server-requests.ts";
import { unsentMessages } from "./unsent-messages.ts";

/** What the server says about a chat beside its messages. */
export interface Ledger {
  approvals: ApprovalView[];
  /** The last sequence number of the chat's log. If it has changed, the page's messages may be out of date. */
  sequence: number;
  /** A turn is being generated. */
  running: boolean;
}

interface MessagePage<UI_MESSAGE> {
  messages: UI_MESSAGE[];
  /** Names the page before this one. */
  before?: string;
}

export interface ChatSyncOptions<UI_MESSAGE extends UIMessage> {
  /** The transport of the chat: an `SseChatTransport`, or a `WebSocketChatTransport` with `hold`. */
  transport: HeldTransport<UI_MESSAGE>;
  /** How many messages a page has. Default 50. */
  pageSize?: number | undefined;
}

/** How far a page has what the server has. */
export interface SyncState {
  /** False until the chat's messages have been read for the first time. */
  isLoaded: boolean;
  /** True if there are older messages than those of the page. */
  hasOlder: boolean;
  /** Why the page does not have what the server has; undefined if it does. `refresh` tries again. */
  problem?: string;
  /** The ids of messages that could not be sent, and of those of which an edit could not be sent. */
  unsent: readonly string[];
}

/** How often the same reply is resumed without coming further. */
const maxResumes = 5;

/**
 * Keeps a chat as it is at the server: reads its messages at the start, asks now and then whether it has gone on (in another
 * tab, on another device, by a decision made elsewhere, by an expiry), reads what is new, and resumes a reply that is being
 * generated or waits. While a request of the page runs, it only puts older messages before the others, and the chat makes one
 * request at a time.
 * `onShow` is called when the chat has the server's messages.
 */
export function chatSync<UI_MESSAGE extends UIMessage>(
  chat: AbstractChat<UI_MESSAGE>,
  ledger: ApprovalLedger,
  { transport, pageSize = 50 }: ChatSyncOptions<UI_MESSAGE>,
  onShow: () => void,
) {
  const { stop, sendMessage, regenerate, resumeStream } = chat;
  const {
    server,
    approvals: { refresh },
  } = ledger;
  const unsent = unsentMessages(chat);
  let others: BroadcastChannel | undefined;
  let isClosed = true;
  let problem: string | undefined;
  /** Names the page before the first message. */
  let before: string | undefined;
  /** The sequence number that the chat's messages show. */
  let shown: number | undefined;
  /** The sequence number at which a reply was resumed, and how often. */
  let resumedAt = -1;
  let resumes = 0;
  /** True from a request for a reply until its stream is over. The chat is busy only when the server has answered. */
  let isResuming = false;
  /** The last request and the reading of its reply. */
  let active: Promise<unknown> | undefined;
  /** How many requests wait for their turn. */
  let waiting = 0;

  const currentState = (): SyncState => ({
    isLoaded: shown !== undefined,
    hasOlder: before !== undefined,
    problem,
    unsent: unsent.ids(),
  });
  let state = currentState();
  const changed = (): void => {
    state = currentState();
    ledger.changed();
  };
  const keepUnsent = (status = "error"): void => {
    // The page has dropped what followed an edited message, and the server has not.
    if (chat.status === status && unsent.keep()) shown = -1;
  };

  async function read(limit = pageSize, from = ""): Promise<MessagePage<UI_MESSAGE>> {
    const { body } = await server.read<MessagePage<UI_MESSAGE>>(`${chatPath(chat.id)}/messages?limit=${limit}${from}`);
    unsent.receive(body.messages);
    return body;
  }

  /** Takes over the server's messages, with those of the page that the server does not have: older ones, and unsent ones. */
  function show(page: MessagePage<UI_MESSAGE>): void {
    const local = chat.messages;
    const start = local.findIndex(({ id }) => id === page.messages[0]?.id);
    const older = Math.max(0, start);
    const messages = [...local.slice(0, older), ...unsent.mergedWith(page.messages, local.slice(older))];
    if (JSON.stringify(messages) !== JSON.stringify(local)) chat.messages = messages;
    // Otherwise the older messages stay, and with them the page before them.
    if (start <= 0) before = page.before;
  }

  async function follow({ sequence, running }: Ledger): Promise<void> {
    if (isBusy(chat)) return changed();
    if (sequence !== shown) {
      const { messages } = chat;
      const page = sequence === 0 ? { messages: [] } : await read();
      if (isClosed || isBusy(chat) || chat.messages !== messages) return;
      show(page);
      onShow();
      shown = sequence;
    }
    const last = chat.messages.at(-1);
    const { error } = chat;
    // A broken connection, as AI SDK recognises one.
    const isLost = error instanceof TypeError && /network|fetch/i.test(error.message);
    const isOpen = running || (transport.resumesPaused && isWaiting(last));
    if (isOpen) {
      if (isResuming) return changed();
      resumes = resumedAt === sequence ? resumes + 1 : 1;
      resumedAt = sequence;
    }
    // A reply that waits is resumed once, and again if its connection was lost. Without a stream the page asks now and then.
    const goesOn = isOpen && resumes <= (running || isLost ? maxResumes : 1);
    problem = running && !goesOn ? "The reply does not go on." : undefined;
    if (isLost && !goesOn && !running && last?.role !== "user") chat.clearError();
    changed();
    if (!goesOn) return;
    isResuming = true;
    void chat.resumeStream().finally(() => (isResuming = false));
  }

  /** Something of this page has changed the chat: the other tabs ask now. */
  function tellOthers(): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a BroadcastChannel reaches only this origin
    others?.postMessage("changed");
  }

  function reading(done: Promise<void>): Promise<void> {
    const until = done.then(over, over);
    function over() {
      if (active === until) active = undefined;
    }
    active = until;
    return done;
  }

  /** A chat reads one stream at a time: the one before is left when the server has its message. */
  function alone(request: () => Promise<void>): Promise<void> {
    const last = active;
    const inTurn = async () => {
      if (last || isBusy(chat)) {
        waiting += 1;
        transport.release();
        await last;
        waiting -= 1;
      }
      keepUnsent();
      const done = request();
      tellOthers();
      return done;
    };
    return reading(inTurn());
  }

  chat.stop = () => {
    // The server may not have the message. If it has, it says so in a moment.
    keepUnsent("submitted");
    return stop();
  };
  chat.sendMessage = (message, ...given) =>
    alone(() => {
      if (message?.messageId) unsent.edit(message.messageId);
      return sendMessage(message, ...given);
    });
  chat.regenerate = (...given) => alone(() => regenerate(...given));
  chat.resumeStream = (...given) => reading(resumeStream(...given));

  return {
    state: (): SyncState => state,

    /** The requests of messages that were sent in the same moment come one after the other. */
    onOpen(this: void): void {
      if (waiting > 0) transport.release();
    },

    /** A stream has ended, or a decision was recorded. */
    onEnd(this: void): void {
      tellOthers();
      void refresh();
    },

    open(): void {
      isClosed = false;
      others ??= globalThis.BroadcastChannel && new BroadcastChannel(`adk-stream-protocol:${chat.id}`);
      others?.addEventListener("message", () => void refresh());
    },

    close(): void {
      isClosed = true;
      others?.close();
      others = undefined;
    },

    /** Asks the server whether the chat has gone on. */
    async ask(): Promise<void> {
      keepUnsent();
      try {
        const reply = await server.read<Ledger>(`/approvals?chat=${encodeURIComponent(chat.id)}&state=pending`);
        if (isClosed) return;
        // The server is back: nothing waits for its next attempt.
        if (transport.getState().status === "reconnecting") transport.reconnect();
        ledger.receive(reply);
        await follow(reply.body);
      } catch (error) {
        if (isClosed) return;
        problem = (error instanceof BridgeError ? error : lostConnection()).message;
        changed();
      }
    },

    /** Sends an unsent message again. */
    resend(this: void, messageId: string): Promise<void> {
      return alone(async () => {
        const message = unsent.take(messageId);
        if (message) await sendMessage(message);
      });
    },

    /** Removes an unsent message. Of an edit the message comes back as the server has it. */
    discard(this: void, messageId: string): void {
      if (!unsent.take(messageId)) return;
      chat.clearError();
      shown = -1;
      void refresh();
    },

    /** Reads messages before the first one. Resolves to false if that was not possible now. */
    async loadOlder(this: void, limit?: number): Promise<boolean> {
      const first = chat.messages[0]?.id;
      if (!before) return false;
      const page = await read(limit, `&before=${encodeURIComponent(before)}`).catch(() => undefined);
      if (!page || chat.messages[0]?.id !== first) return false;
      const ids = new Set(chat.messages.map(({ id }) => id));
      chat.messages = [...page.messages.filter(({ id }) => !ids.has(id)), ...chat.messages];
      before = page.before;
      changed();
      return true;
    },
  };
}

export function isBusy({ status }: { status: string }): boolean {
  return status === "submitted" || status === "streaming";
}

/** True if a call of the message has no outcome. */
function isWaiting(message: UIMessage | undefined): boolean | undefined {
  return message?.parts.some(
    (part) =>
      isToolPart(part) && (!part.state.startsWith("output-") || (part as { preliminary?: boolean }).preliminary),
  );
}
