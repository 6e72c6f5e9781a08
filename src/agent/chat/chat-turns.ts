import { BridgeError, isNotFound } from "../../protocol/index.ts";
import type { Quota } from "../../protocol/quota.ts";
import { type Approval, NotOwner, type Session } from "../../stores/index.ts";
import { cancelFamily } from "../approval/family.ts";
import type { UnseenQuestions } from "../approval/index.ts";
import { atMost, describeError, newId } from "../support/index.ts";
import { chatDeleted } from "../log/chat-deleted.ts";
import { runTurn, type TurnContext, whenItMayBegin } from "../turn.ts";
import { type Mode, continuesElsewhere, type Turn, type TurnInput } from "../turn-input.ts";
import type { BegunTurn } from "./begin-turn.ts";
import { ChatQueue, type QueuedTurn } from "./chat-queue.ts";
import { ChatElsewhere, Ownership } from "./ownership.ts";
import { markShownRows } from "./shown-outcomes.ts";

export interface ChatTurnsContext extends TurnContext {
  unseen: UnseenQuestions;
  /** Turns that are not over. Those that requests start are counted by `Admission`. */
  quota: Quota;
  leaseMs: number;
}

/** How long the turns of a chat that is being deleted may take to end. */
const stopMs = 2000;

/** The turns of every chat: which comes next, and which message it writes to. */
export class ChatTurns {
  readonly #context: ChatTurnsContext;
  readonly #queues = new Map<string, ChatQueue>();
  readonly #ownership: Ownership;
  /** Looks at what another process left in a chat that this one has taken. */
  #onTaken: (chat: Session) => Promise<void> = async () => undefined;
  #isClosed = false;

  constructor(context: ChatTurnsContext) {
    this.#context = context;
    this.#ownership = new Ownership({
      ...context,
      onLost: (chat) => this.#leave(chat),
      presentKeys: () => context.conversations.presentKeys,
    });
    context.conversations.subscribe({
      onSpeech: (chat) => this.#startSpeech(chat),
      onCancelled: (chat, callIds) => this.#cancelCalls(chat, callIds),
      onClosed: (chatId) => this.#releaseIdle(chatId),
    });
  }

  /** Begins to keep the chats that this node has. `onTaken` is called in each chat before anything else happens there. */
  start(onTaken: (chat: Session) => Promise<void>): void {
    this.#onTaken = onTaken;
    this.#ownership.start();
  }

  /** False when another node may have taken the chat. */
  has(chatId: string): boolean {
    return this.#ownership.isSure(chatId);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  refuseWhenClosed(): void {
    if (this.#isClosed) throw new BridgeError("unavailable", "The server is stopping. Try again in a moment.");
  }

  /** The turn of a chat that is being generated, if any. */
  running(chatId: string): QueuedTurn | undefined {
    return this.#queues.get(chatId)?.running;
  }

  /** True while a turn that shows this row is queued or runs. */
  covers({ id, chat }: Approval): boolean {
    return this.#queues.get(chat)?.find(({ covers }) => covers.has(id)) !== undefined;
  }

  /** Stops what is being generated. True when there was something. */
  async stop(chatId: string, reason: Error): Promise<boolean> {
    return (await this.#queues.get(chatId)?.stopAll(reason)) ?? false;
  }

  /** True while something runs or waits in the chat at this node. */
  isBusy(chatId: string): boolean {
    return this.#queues.has(chatId);
  }

  /** The chats in which something runs or waits. */
  get chats(): string[] {
    return [...this.#queues.keys()];
  }

  /** Stops every turn without waiting for anything, after `close` has taken too long. */
  abandon(): void {
    for (const queue of this.#queues.values()) void queue.stopAll(continuesElsewhere);
  }

  /** Leaves every turn open for the next process. Waits for the current sections first, since they may start a turn. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(
      [...this.#queues.values()].map((queue) => queue.exclusive(() => queue.stopAll(continuesElsewhere))),
    );
  }

  /** Gives all chats back, after `close`. */
  release(): Promise<void> {
    return this.#ownership.close();
  }

  /** Runs a section of the chat that an approval belongs to. */
  async inChat<T>(chatId: string, section: (queue: ChatQueue) => Promise<T>): Promise<T> {
    const chat = await this.#context.store.getSession(chatId);
    if (!chat) throw chatDeleted;
    return this.exclusive(chat, section);
  }

  /**
   * Runs one section of a chat at a time, at the node that has the chat: throws `ChatElsewhere` at any other. A queue is held
   * only inside a section, so an idle one can be dropped.
   */
  async exclusive<T>(chat: Session, section: (queue: ChatQueue) => Promise<T>): Promise<T> {
    const queue = this.#queues.get(chat.id) ?? this.#newQueue(chat);
    return queue.exclusive(async () => {
      this.refuseWhenClosed();
      if (queue.isDeleted) throw chatDeleted;
      await this.#ownership.hold(chat.id);
      await this.#settleLeft(queue);
      return section(queue).catch((error: unknown) => {
        throw this.#ownership.noteFailure(chat.id, error);
      });
    });
  }

  /** Stops what runs or waits in a chat, inside a section. Afterwards no turn is open in its log. */
  async stopAll(queue: ChatQueue, reason: Error): Promise<void> {
    await queue.stopAll(reason);
    await this.#settleLeft(queue);
  }

  /** Ends turns that were left open in the log, by another node or when the store failed, unless one of them runs here. */
  async #settleLeft({ chat, running }: Pick<ChatQueue, "chat" | "running">): Promise<void> {
    if (running || !this.#ownership.isUnsettled(chat.id)) return;
    await this.#onTaken(chat);
    this.#ownership.setSettled(chat.id);
  }

  /** Stops everything in a chat, lets nothing more begin there, and then removes it; does nothing unless `mayDelete`. */
  async delete(
    chat: Session,
    remove: () => Promise<void>,
    mayDelete: () => Promise<boolean> = async () => true,
  ): Promise<void> {
    await this.exclusive(chat, async (queue) => {
      if (!(await mayDelete())) return;
      queue.isDeleted = true;
      await atMost(stopMs, queue.stopAll(chatDeleted));
      await atMost(stopMs, this.#context.conversations.close(chat.id));
      await remove();
    });
  }

  /** Starts a turn that shows outcomes and continues the conversation. */
  async continue(
    queue: ChatQueue,
    approvals: readonly Approval[],
    options: {
      reply: string;
      answered?: ReadonlyMap<string, boolean>;
      model?: boolean | "again";
      /** The mode of the request that caused this, if one did. */
      mode?: Mode;
      /** A person decided, without a client that reads the reply. */
      attended?: boolean;
      /** Whose message the reply is for, if it is known. */
      actor?: string | undefined;
    },
  ): Promise<QueuedTurn> {
    const { conversations, unseen } = this.#context;
    const { reply, answered, model = true } = options;
    const { mode, asksModel, isRequested } = await conversations.continuation(queue.chat, options);
    const attended = options.attended ?? isRequested;
    const { owner, name } = queue.chat;
    if (attended && name !== undefined) unseen.noteVisit(owner, name);
    // While the user is away the model is asked only a few times. The rest is told with the next message.
    const mayAsk = asksModel && (attended || (await unseen.mayAskModel(queue.chat.id, approvals)));
    const ids = approvals.map(({ id }) => id);
    const input: TurnInput = {
      kind: "settled",
      approvals: ids,
      model: mayAsk ? model : false,
      ...(answered && { answered }),
      ...(!attended && { unattended: true }),
    };
    const actor = options.actor ?? (await this.#actorOf(queue.chat, approvals, reply));
    return this.enqueueUnasked(queue, { reply, input, mode, actor }, isRequested);
  }

  async enqueue(
    queue: ChatQueue,
    { begun, ...turn }: Pick<Turn, "reply" | "input" | "mode" | "actor"> & { begun?: BegunTurn },
  ): Promise<QueuedTurn> {
    if (begun) return queue.enqueue({ ...turn, id: begun.id, after: begun.after, begun: begun.chunks });
    const after = await this.#context.store.lastSequence(queue.chat.id);
    return queue.enqueue({ ...turn, id: newId("turn"), after });
  }

  /** Queues a turn that the server starts by itself, unless a request has caused it. It is counted and never refused. */
  async enqueueUnasked(
    queue: ChatQueue,
    turn: Pick<Turn, "reply" | "input" | "mode" | "actor">,
    isRequested = false,
  ): Promise<QueuedTurn> {
    const queued = await this.enqueue(queue, turn);
    if (isRequested) return queued;
    const { release } = this.#context.quota.count(queue.chat.owner);
    void queued.done.then(release, release);
    return queued;
  }

  /** Whose message the calls of a reply come from, no matter who decided about them. Rows of older releases do not say. */
  async #actorOf(chat: Session, approvals: readonly Approval[], reply: string): Promise<string> {
    const named = ({ requestedBy }: Approval) => requestedBy !== undefined;
    const { store } = this.#context;
    const row =
      approvals.find(named) ?? (await store.listApprovals({ chat: chat.id, messageId: reply })).findLast(named);
    return row?.requestedBy ?? chat.owner;
  }

  #newQueue(chat: Session): ChatQueue {
    const queue = new ChatQueue(
      chat,
      (turn) => whenItMayBegin(turn, this.#context, () => this.#run(turn)),
      () => {
        this.#queues.delete(chat.id);
        this.#releaseIdle(chat.id);
      },
    );
    this.#queues.set(chat.id, queue);
    return queue;
  }

  async #run(turn: Turn): Promise<void> {
    const { input, chat } = turn;
    // The turn before it was left open, and the node that ends it also shows what this one would have shown.
    if (turn.signal.reason === continuesElsewhere) return;
    try {
      if (!turn.begun) await this.#settleLeft({ chat, running: undefined });
      await runTurn(turn, this.#context);
      if (input.kind === "settled") await markShownRows(this.#context.store, chat.id, input.approvals);
    } catch (error) {
      // A turn that was left may not write. This says nothing about the lease, which is given back.
      if (error instanceof NotOwner && turn.signal.reason === continuesElsewhere) return;
      const failure = this.#ownership.noteFailure(chat.id, error);
      if (!(failure instanceof ChatElsewhere)) throw failure;
    }
  }

  /** Gives a chat back in which nothing happens. */
  #releaseIdle(chatId: string): void {
    if (!this.#queues.has(chatId) && !this.#context.conversations.isOpen(chatId)) this.#ownership.release(chatId);
  }

  #leave(chatId: string): void {
    void this.#queues.get(chatId)?.stopAll(continuesElsewhere);
    void this.#context.conversations.close(chatId);
  }

  /** The model spoke unasked: a turn shows it. */
  #startSpeech(chat: Session): void {
    this.#later(chat, async (queue) => {
      const { reply, mode, actor } = await this.#context.conversations.forSpeech(chat);
      await this.enqueueUnasked(queue, { reply, input: { kind: "speech" }, mode, actor });
    });
  }

  /** The model cancelled calls. Those that have not started are cancelled; it is told the outcome of the others. */
  #cancelCalls(chat: Session, callIds: readonly string[]): void {
    const { store, conversations } = this.#context;
    this.#later(chat, async (queue) => {
      const rows = await store.listApprovals({ session: chat.id, about: callIds });
      const cancelled: Approval[] = [];
      for (const row of rows) if (callIds.includes(row.toolCallId)) cancelled.push(...(await cancelFamily(row, store)));
      await conversations.recordCancelled(
        chat.id,
        cancelled.map(({ toolCallId }) => toolCallId),
      );
      for (const row of cancelled) {
        const reply = await conversations.placeFor(chat.id, row.messageId);
        await this.continue(queue, [row], { reply, model: false });
      }
    });
  }

  #later(chat: Session, section: (queue: ChatQueue) => Promise<void>): void {
    this.exclusive(chat, section).catch((error: unknown) => {
      if (!this.#isClosed && !isNotFound(error))
        this.#context.logger.error("A live chat could not continue.", { error: describeError(error) });
    });
  }
}
