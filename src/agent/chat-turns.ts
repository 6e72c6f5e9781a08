import { BridgeError, isSettled } from "../protocol/index.ts";
import type { Approval, Session } from "../stores/index.ts";
import { ChatQueue, type QueuedTurn } from "./chat-queue.ts";
import { lastReply } from "./follow-log.ts";
import { cancel } from "./heal.ts";
import { newId } from "./ids.ts";
import { isAskedLive } from "./live-notices.ts";
import { describeError } from "./logger.ts";
import { runTurn, type Stage } from "./turn.ts";
import { serverCloses, type Turn, type TurnInput } from "./turn-input.ts";

/** The turns of every chat: which comes next, in which mode, and which message it shows. */
export class ChatTurns {
  readonly #stage: Stage;
  readonly #queues = new Map<string, ChatQueue>();
  #closed = false;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  refuseWhenClosed(): void {
    if (this.#closed) throw new BridgeError("unavailable", "The server is stopping. Try again in a moment.");
  }

  /** The turn of a chat that is being generated, if any. */
  running(chatId: string): QueuedTurn | undefined {
    return this.#queues.get(chatId)?.running;
  }

  /** Stops what is being generated; true when there was something. */
  async stop(chatId: string, reason: Error): Promise<boolean> {
    return (await this.#queues.get(chatId)?.stopAll(reason)) ?? false;
  }

  /** Leaves every turn open for the next start. Behind the sections under way, which may still begin one. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(
      [...this.#queues.values()].map((queue) => queue.exclusive(() => queue.stopAll(serverCloses))),
    );
  }

  async inChat<T>(chatId: string, section: (queue: ChatQueue) => Promise<T>): Promise<T> {
    const chat = await this.#stage.store.getSession(chatId);
    if (!chat) throw new Error(`Chat ${chatId} is gone.`);
    return this.exclusive(chat, section);
  }

  /** One section of a chat at a time. Nobody holds a queue outside one, so an idle queue can be let go. */
  async exclusive<T>(chat: Session, section: (queue: ChatQueue) => Promise<T>): Promise<T> {
    let queue = this.#queues.get(chat.id);
    if (!queue) {
      queue = new ChatQueue(
        chat,
        (turn: Turn) => runTurn(turn, this.#stage),
        () => this.#queues.delete(chat.id),
      );
      this.#queues.set(chat.id, queue);
    }
    const held = queue;
    return held.exclusive(() => {
      this.refuseWhenClosed();
      return section(held);
    });
  }

  /**
   * Goes on with a chat in the mode it is in. Where that was live and nobody is connected any more, the outcomes are only
   * shown: the model hears of them when it is talked to again.
   */
  async continue(
    queue: ChatQueue,
    approvals: readonly Approval[],
    options: {
      reply: string;
      answered?: ReadonlyMap<string, boolean>;
      model?: boolean | "nudge";
      /** The mode of the request that caused this, if one did. */
      live?: boolean;
    },
  ): Promise<QueuedTurn> {
    const { reply, answered, live = this.#stage.live.has(queue.chat.id) } = options;
    const waitsForConnection = options.live === undefined && !live && (await this.isAskedLive(queue.chat.id, reply));
    const model = waitsForConnection ? false : (options.model ?? true);
    const input = { kind: "settled", approvals: approvals.map(({ id }) => id), answered, model } as const;
    return this.enqueue(queue, reply, input, live);
  }

  async enqueue(queue: ChatQueue, reply: string, input: TurnInput, live: boolean): Promise<QueuedTurn> {
    const after = await this.#stage.store.lastSequence(queue.chat.id);
    return queue.enqueue({ id: newId("turn"), reply, after, input, live });
  }

  // ── what the model of a live connection does by itself ─────────────────────────────────────────────────────────

  /** The model speaks unasked: behind a call that waits it goes on with that message, and otherwise begins one. */
  hear(chat: Session): void {
    this.#afterwards(chat, async (queue) => {
      const last = await lastReply(this.#stage.store, chat.id);
      const rows = await this.#stage.store.listApprovals({ chat: chat.id });
      const waits = rows.some(({ messageId, state }) => messageId === last && !isSettled(state));
      await this.enqueue(queue, waits && last !== undefined ? last : newId("msg"), { kind: "speech" }, true);
    });
  }

  /** The model takes calls back. What has not started is cancelled; of what has, it will hear. */
  takeBack(chat: Session, callIds: readonly string[]): void {
    this.#afterwards(chat, async (queue) => {
      const rows = await this.#stage.store.listApprovals({ session: chat.id });
      const cancelled: Approval[] = [];
      for (const row of rows)
        if (callIds.includes(row.toolCallId)) cancelled.push(...(await cancel(row, this.#stage.store)));
      await this.#stage.live.get(chat.id)?.record(cancelled);
      for (const row of cancelled)
        await this.continue(queue, [row], { reply: await this.placeFor(chat.id, row.messageId), model: false });
    });
  }

  #afterwards(chat: Session, section: (queue: ChatQueue) => Promise<void>): void {
    this.exclusive(chat, section).catch((error: unknown) => {
      if (!this.#closed) this.#stage.logger.error("A live chat could not go on.", { error: describeError(error) });
    });
  }

  // ── where it shows ─────────────────────────────────────────────────────────────────────────────────────────────

  /** Where an outcome is shown that no request asked for: in the call's own message while that is the last one. */
  async placeFor(chat: string, messageId: string): Promise<string> {
    const last = await lastReply(this.#stage.store, chat);
    return last === messageId || !(this.#stage.live.has(chat) || (await this.isAskedLive(chat, messageId)))
      ? messageId
      : newId("msg");
  }

  async isAskedLive(chat: string, messageId: string): Promise<boolean> {
    const rows = await this.#stage.store.listApprovals({ chat });
    return rows.some((row) => row.messageId === messageId && isAskedLive(row));
  }
}
