import type { UIMessage } from "ai";
import { type ApprovalView, type Decision, type OwnerOrIdentity, toIdentity } from "../protocol/index.ts";
import type { Session, StoredFile } from "../stores/index.ts";
import { approvalsToViews, approvalToView } from "./approval/index.ts";
import { type BridgeOptions, checkOptions } from "./bridge-options.ts";
import { type BridgeParts, buildParts } from "./bridge-parts.ts";
import {
  type ApprovalListFilter,
  type Chats,
  type DecisionResult,
  type HeldReading,
  listApprovals,
  type Reading,
  type Report,
  type Resolution,
  type Submission,
  type Submitted,
  unknownChat,
} from "./chat/index.ts";
import {
  findTurnOf,
  LogReader,
  type PageRange,
  readAllPages,
  readMessage,
  readHeld,
  readMessages,
  type ReadOptions,
  readTurn,
} from "./log/index.ts";
import { closeParts } from "./close-parts.ts";
import { Upkeep } from "./upkeep.ts";

/** Starts a bridge: recovers what a crash left behind, then watches for expiry. */
export async function createBridge(options: BridgeOptions): Promise<Bridge> {
  const bridge = new Bridge(options);
  await bridge.start();
  return bridge;
}

/**
 * The agent's side of the system, for any wire: messages and decisions in, a log of chunks out. Every method takes the owner
 * that authentication found, and those that record who did something take the actor too. A chat or approval of another
 * owner is indistinguishable from a missing one.
 *
 * This class only delegates to its parts (`bridge-parts.ts` builds them): `chat/` takes requests and decisions in, `turn.ts` runs a turn,
 * `conversation/` talks to the model, `approval/` holds and executes calls, `log/` is what readers get.
 */
export class Bridge {
  readonly #parts: BridgeParts;
  readonly #upkeep: Upkeep;
  readonly #sweepMs: number;
  readonly #drainMs: number;
  #timer: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: BridgeOptions) {
    checkOptions(options);
    this.#parts = buildParts(options);
    this.#upkeep = new Upkeep(this.#parts);
    this.#sweepMs = options.sweepMs ?? 1000;
    this.#drainMs = options.drainMs ?? 5000;
  }

  async start(): Promise<void> {
    await this.#parts.checkTools();
    this.#parts.relay.start();
    await this.#parts.recovery.start();
    if (this.#sweepMs > 0) {
      this.#timer = setInterval(() => void this.sweep(), this.#sweepMs);
      this.#timer.unref();
    }
  }

  // ── in ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Takes in a chat request. The reply can be read at once, and is completed even if no one reads it. Without a chat, a
   * message begins one. Answers are for the chat of the approvals that they name, whichever chat they were sent to.
   */
  async submit(
    who: OwnerOrIdentity,
    chatName: string | undefined,
    submission: Submission,
    {
      live = false,
      request,
    }: {
      /** Talk to the model over a live connection. */
      live?: boolean;
      /** An id of the request, unique in its chat. If the request comes again before a newer message, its turn is read again. */
      request?: string | undefined;
    } = {},
  ): Promise<Submitted> {
    const identity = toIdentity(who);
    if (chatName !== undefined) this.#parts.unseen.noteVisit(identity.owner, chatName);
    return this.#parts.requests.submit({
      identity,
      chatName,
      submission,
      mode: live ? "live" : "request",
      id: request,
    });
  }

  /** One decision made outside a chat request. The server itself continues the conversation. */
  async decide(who: OwnerOrIdentity, decision: Decision & { key?: string }): Promise<DecisionResult> {
    return this.#parts.requests.decide(toIdentity(who), decision);
  }

  /**
   * What became of a call that has begun, by the `idempotencyKey` that the tool was given. The same report may come again;
   * rejects with {@link StateConflict} when another outcome or the deadline came first.
   */
  settle(owner: string, key: string, report: Report): Promise<ApprovalView> {
    return this.#parts.requests.settle(owner, key, report);
  }

  /** A person says what became of a call whose outcome is not known. Rejects with {@link StateConflict} for any other. */
  async resolve(who: OwnerOrIdentity, resolution: Resolution): Promise<ApprovalView> {
    return this.#parts.requests.resolve(toIdentity(who), resolution);
  }

  /** Stops what is being generated. Tools that have started run to their end, and their outcome is recorded. */
  async stop(owner: string, chatName: string): Promise<boolean> {
    return this.#parts.requests.stop((await this.#requireChat(owner, chatName)).id);
  }

  /** A client is connected to the chat, so its live connection stays open. Call the returned function when it leaves. */
  attach(owner: string, chatName: string): () => void {
    this.#parts.unseen.noteVisit(owner, chatName);
    return this.#parts.conversations.attach(owner, chatName);
  }

  /** The owner's chats: list, rename, delete, export, import. */
  get chats(): Chats {
    return this.#parts.chats;
  }

  // ── out ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The turn that is being generated, if any. A turn that waits for an approval is not. */
  async resume(owner: string, chatName: string): Promise<Reading | undefined> {
    this.#parts.unseen.noteVisit(owner, chatName);
    const chat = await this.#parts.store.findChat(owner, chatName);
    const turn = chat && (await this.#parts.requests.running(chat.id));
    return turn && { turn, chat: chat.id };
  }

  /**
   * The reply that a held stream goes on with, and how a reader gets the part before it: the one that is being generated,
   * or the last one if it waits for an answer or a result. With `after`, the one that has this entry of the log.
   */
  async held(owner: string, chatName: string, after?: number): Promise<HeldReading | undefined> {
    this.#parts.unseen.noteVisit(owner, chatName);
    const chat = await this.#parts.store.findChat(owner, chatName);
    return chat && this.#parts.requests.held(chat.id, after);
  }

  /**
   * Messages of a chat, the newest page first, each page in order, with the approvals of their calls. The reply that is
   * being generated is not among them; it comes from `resume`.
   */
  async messagePage(
    owner: string,
    chatName: string,
    range: PageRange = {},
  ): Promise<{ messages: UIMessage[]; before?: string; approvals: ApprovalView[] }> {
    this.#parts.unseen.noteVisit(owner, chatName);
    const { id: chat } = await this.#requireChat(owner, chatName);
    const { rows, ...page } = await readMessages(this.#parts.store, chat, range);
    return { ...page, approvals: approvalsToViews(rows) };
  }

  /** All messages of a chat. Chats can be long: pages read them with `messagePage`. */
  messages(owner: string, chatName: string): Promise<UIMessage[]> {
    return readAllPages((before) => this.messagePage(owner, chatName, { before }));
  }

  /** One message of a chat, its place in the log, and the approvals of its calls, without what the running turn adds to it. */
  async message(
    owner: string,
    chatName: string,
    id: string,
  ): Promise<{ message: UIMessage; place: number; approvals: ApprovalView[] } | undefined> {
    const { id: chat } = await this.#requireChat(owner, chatName);
    const found = await readMessage(this.#parts.store, chat, id);
    return found && { message: found.message, place: found.place, approvals: approvalsToViews(found.rows) };
  }

  /**
   * The owner's approvals, page by page. Those that wait, asked for without a chat, include those of others that the actor
   * may decide.
   */
  async approvals(
    who: OwnerOrIdentity,
    filter: ApprovalListFilter,
  ): Promise<{ approvals: ApprovalView[]; cursor?: string; sequence: number; running: boolean }> {
    const identity = toIdentity(who);
    const chat = filter.chat === undefined ? undefined : await this.#parts.store.findChat(identity.owner, filter.chat);
    if (filter.chat !== undefined && !chat) return { approvals: [], sequence: 0, running: false };
    return {
      ...(await listApprovals(identity, filter, chat?.id, this.#parts)),
      ...(await this.#positionOf(chat)),
    };
  }

  /** The last sequence number of a chat's log, and whether a turn is being generated. An unknown chat has an empty log. */
  async position(owner: string, chatName: string): Promise<{ sequence: number; running: boolean }> {
    return this.#positionOf(await this.#parts.store.findChat(owner, chatName));
  }

  /** The turn that a user's message began, and the message as it is now; undefined if the chat has no such message. */
  async turnOf(
    owner: string,
    chatName: string,
    messageId: string,
  ): Promise<{ id: string; after: number; message: UIMessage } | undefined> {
    const chat = await this.#parts.store.findChat(owner, chatName);
    const found = chat && (await findTurnOf(this.#parts.store, chat.id, messageId));
    return found && { id: found.turn.id, after: found.turn.after, message: found.message };
  }

  /** An approval, if this owner has it. */
  async approval(owner: string, id: string): Promise<ApprovalView | undefined> {
    const approval = await this.#parts.store.getApproval(id);
    return approval?.owner === owner && approval.gated ? approvalToView(approval) : undefined;
  }

  /** The name of the chat that an approval belongs to, if this owner has it. */
  async chatOf(owner: string, approvalId: string): Promise<string | undefined> {
    const approval = await this.#parts.store.getApproval(approvalId);
    return approval?.owner === owner ? (await this.#parts.store.getSession(approval.chat))?.name : undefined;
  }

  /**
   * The chunks of one turn as they are written, see {@link readTurn}; with `hold` also those of the turns that continue its
   * message, see {@link readHeld}.
   */
  read({ turn, chat }: Reading, { hold, ...options }: ReadOptions & { hold?: boolean | undefined } = {}) {
    return (hold ? readHeld : readTurn)(this.#parts.store, chat, turn, options);
  }

  /** Reads everything that is written to a chat after `after`, until it is closed. `onNews` is called when there is more. */
  async follow(owner: string, chatName: string, options: { after: number; onNews: () => void }): Promise<LogReader> {
    const { id: chat } = await this.#requireChat(owner, chatName);
    return new LogReader(this.#parts.store, chat, options);
  }

  /** A file of one of the owner's chats: an attachment, a picture of the model, a large output. */
  file(owner: string, id: string): Promise<StoredFile | undefined> {
    return this.#parts.files.find(owner, id);
  }

  // ── upkeep ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Expires approvals that are due, takes over calls whose process died, and removes what is too old. */
  sweep(): Promise<void> {
    return this.#upkeep.sweep();
  }

  /** True while no turn and no approved call runs here. A chat that waits for an answer is idle. */
  get isIdle(): boolean {
    return this.#parts.turns.chats.length === 0 && this.#parts.executor.running.length === 0;
  }

  /** Rejects with `unavailable` while the bridge closes, is closed, or cannot reach its store. For load balancers. */
  ready(): Promise<void> {
    return this.#parts.readiness.check();
  }

  /** Aborts when `close` begins: what is being generated goes on elsewhere, and so should those who read it. */
  get stopping(): AbortSignal {
    return this.#parts.readiness.stopping;
  }

  /** Stops turns and timers, and gives running tools `drainMs` to end. Does not close the store. */
  close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing ??= closeParts(this.#parts, { drainMs: this.#drainMs, upkeep: this.#upkeep });
    return this.#closing;
  }

  async #positionOf(chat: Session | undefined): Promise<{ sequence: number; running: boolean }> {
    return chat ? this.#parts.requests.position(chat.id) : { sequence: 0, running: false };
  }

  async #requireChat(owner: string, name: string): Promise<Session> {
    return (await this.#parts.store.findChat(owner, name)) ?? Promise.reject(unknownChat(name));
  }
}
