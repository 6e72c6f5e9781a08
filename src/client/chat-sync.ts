import type { AbstractChat, UIMessage } from "ai";
import type { ApprovalView } from "../protocol/approval.ts";
import { BridgeError } from "../protocol/errors.ts";
import { isToolPart } from "./approval-info.ts";
import type { HeldTransport } from "./held-transport.ts";
import { chatPath, refusalOf, type ServerRequests } from "./server-requests.ts";
import { systemTimers, type Timers } from "./timers.ts";
import { isHidden, watchReturn } from "./watch-return.ts";
import { UnsentMessages } from "./unsent-messages.ts";

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
  chat: AbstractChat<UI_MESSAGE>;
  transport: HeldTransport<UI_MESSAGE>;
  server: ServerRequests;
  onLedger: (ledger: Ledger, clockOffset: number) => void;
  onChange: () => void;
  /** The chat has the server's messages now. */
  onShow?: () => void;
  /** How often the page asks whether the chat has gone on without it. Default 5 seconds. */
  pollMs?: number | undefined;
  /** How many messages a page has. Default 50. */
  pageSize?: number | undefined;
  timers?: Timers | undefined;
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
 * generated or waits. It changes the chat only while no request of the page runs.
 */
export class ChatSync<UI_MESSAGE extends UIMessage> {
  readonly #options: ChatSyncOptions<UI_MESSAGE>;
  readonly #timers: Timers;
  readonly unsent: UnsentMessages<UI_MESSAGE>;
  #unwatch: (() => void) | undefined;
  #others: BroadcastChannel | undefined;
  #state: SyncState = { isLoaded: false, hasOlder: false, unsent: [] };
  #before: string | undefined;
  /** The sequence number that the chat's messages show. */
  #shown: number | undefined;
  /** Replies that were resumed since the log last went on. */
  #resumes = { at: -1, times: 0 };
  /** True from a request for a reply until its stream is over. The chat is busy only when the server has answered. */
  #isResuming = false;
  #asking: Promise<void> | undefined;
  #isAskedAgain = false;
  #timer: unknown;
  #isClosed = true;

  constructor(options: ChatSyncOptions<UI_MESSAGE>) {
    this.#options = options;
    this.#timers = options.timers ?? systemTimers;
    this.unsent = new UnsentMessages(options.chat);
  }

  open(): void {
    this.#isClosed = false;
    this.#unwatch ??= watchReturn(() => void this.refresh());
    this.#others ??=
      globalThis.BroadcastChannel && new BroadcastChannel(`adk-stream-protocol:${this.#options.chat.id}`);
    this.#others?.addEventListener("message", () => void this.refresh());
    void this.refresh();
  }

  get state(): SyncState {
    return this.#state;
  }

  /** Asks the server now. */
  refresh = (): Promise<void> => {
    this.#isAskedAgain = this.#asking !== undefined;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
      if (this.#isClosed) return;
      if (this.#isAskedAgain) void this.refresh();
      else this.#askLater();
    });
    return this.#asking;
  };

  /** Remembers the last message if its request failed. */
  keepUnsent(): void {
    // The page has dropped what followed an edited message, and the server has not.
    if (this.unsent.keep()) this.#shown = -1;
  }

  /** Removes an unsent message. Of an edit the message comes back as the server has it. */
  discard = (messageId: string): void => {
    const { chat } = this.#options;
    if (!this.unsent.take(messageId)) return;
    if (chat.status === "error") chat.clearError();
    this.#shown = -1;
    void this.refresh();
  };

  /** Something of this page has changed the chat: the other tabs ask now. */
  tellOthers(): void {
    this.#others?.postMessage("changed");
  }

  /** Reads the page before the first message. Resolves to false if that was not possible now. */
  loadOlder = async (): Promise<boolean> => {
    const { chat } = this.#options;
    const first = chat.messages[0]?.id;
    if (this.#before === undefined || isBusy(chat)) return false;
    const page = await this.#read(this.#before).catch(() => undefined);
    if (!page || isBusy(chat) || chat.messages[0]?.id !== first) return false;
    const ids = new Set(chat.messages.map(({ id }) => id));
    chat.messages = [...page.messages.filter(({ id }) => !ids.has(id)), ...chat.messages];
    this.#take(page.before);
    return true;
  };

  close(): void {
    this.#isClosed = true;
    this.#unwatch?.();
    this.#others?.close();
    this.#unwatch = this.#others = undefined;
    this.#timers.clearTimeout(this.#timer);
  }

  #askLater(): void {
    this.#timers.clearTimeout(this.#timer);
    // A page that is shown again asks at once.
    if (isHidden()) return;
    this.#timer = this.#timers.setTimeout(() => void this.refresh(), this.#options.pollMs ?? 5000);
  }

  async #ask(): Promise<void> {
    const { chat, server, onLedger } = this.#options;
    this.#isAskedAgain = false;
    this.keepUnsent();
    try {
      const path = `/approvals?chat=${encodeURIComponent(chat.id)}&state=pending`;
      const { body, clockOffset } = await server.read<Ledger>(path);
      if (this.#isClosed) return;
      onLedger(body, clockOffset);
      await this.#follow(body);
    } catch (error) {
      const problem = error instanceof BridgeError ? error.message : "The server cannot be reached.";
      if (!this.#isClosed) this.#become({ problem });
    }
  }

  async #follow({ sequence, running }: Ledger): Promise<void> {
    const { chat, transport } = this.#options;
    if (isBusy(chat)) return this.#become({});
    if (sequence !== this.#shown) {
      const before = chat.messages;
      const page = sequence === 0 ? { messages: [] } : await this.#read();
      if (this.#isClosed || isBusy(chat) || chat.messages !== before) return;
      this.#show(page);
      this.#options.onShow?.();
      this.#shown = sequence;
    }
    const isLost = chat.status === "error" && isNetworkError(chat.error);
    if (running || (transport.resumesPaused && isWaiting(chat.messages.at(-1))))
      return this.#resume(sequence, running, isLost);
    if (isLost && chat.messages.at(-1)?.role !== "user") chat.clearError();
    this.#become({ problem: undefined });
  }

  /** Takes over the server's messages, with those of the page that the server does not have: older ones, and unsent ones. */
  #show(page: MessagePage<UI_MESSAGE>): void {
    const { chat } = this.#options;
    const local = chat.messages;
    const start = local.findIndex(({ id }) => id === page.messages[0]?.id);
    const older = Math.max(0, start);
    const messages = [...local.slice(0, older), ...this.unsent.mergedWith(page.messages, local.slice(older))];
    if (JSON.stringify(messages) !== JSON.stringify(local)) chat.messages = messages;
    // Otherwise the older messages stay, and with them the page before them.
    if (start <= 0) this.#take(page.before);
  }

  #resume(sequence: number, running: boolean, isLost: boolean): void {
    const { chat } = this.#options;
    if (this.#isResuming) return;
    this.#resumes = this.#resumes.at === sequence ? this.#resumes : { at: sequence, times: 0 };
    this.#resumes.times += 1;
    // A reply that waits is resumed once, and again if its connection was lost. Without a stream the page asks now and then.
    if (!running && this.#resumes.times > (isLost ? maxResumes : 1)) {
      if (isLost) chat.clearError();
      return this.#become({ problem: undefined });
    }
    if (this.#resumes.times > maxResumes)
      return this.#become({ problem: `The reply was resumed ${maxResumes} times without coming further.` });
    this.#become({ problem: undefined });
    this.#isResuming = true;
    void chat.resumeStream().finally(() => (this.#isResuming = false));
  }

  async #read(before?: string): Promise<MessagePage<UI_MESSAGE>> {
    const { chat, server, pageSize = 50 } = this.#options;
    const earlier = before === undefined ? "" : `&before=${encodeURIComponent(before)}`;
    const path = `${chatPath(chat.id)}/messages?limit=${pageSize}${earlier}`;
    const reply = await server.json<MessagePage<UI_MESSAGE>>(path);
    const { status, body } = reply;
    if (status === 404) return { messages: [] };
    if (status !== 200) throw refusalOf(reply);
    this.unsent.receive(body.messages);
    return body;
  }

  #take(before: string | undefined): void {
    this.#before = before;
    this.#become({ hasOlder: before !== undefined });
  }

  #become(change: { problem?: string | undefined; hasOlder?: boolean }): void {
    const isLoaded = this.#shown !== undefined;
    this.#state = { ...this.#state, ...change, isLoaded, unsent: this.unsent.ids };
    this.#options.onChange();
  }
}

export function isBusy({ status }: { status: string }): boolean {
  return status === "submitted" || status === "streaming";
}

/** True for a broken connection, as AI SDK recognises one. */
function isNetworkError(error: Error | undefined): boolean {
  return error instanceof TypeError && /network|fetch/i.test(error.message);
}

/** True if a call of the message has no outcome. */
function isWaiting(message: UIMessage | undefined): boolean {
  return (
    message?.role === "assistant" &&
    message.parts.some(
      (part) =>
        isToolPart(part) && (!part.state.startsWith("output-") || (part as { preliminary?: boolean }).preliminary),
    )
  );
}
