import type { Session as AdkSession } from "@google/adk";
import type { UIMessage } from "ai";
import { isSettled } from "../../protocol/index.ts";
import type { Approval } from "../../stores/index.ts";
import { modelName } from "../adk/agents.ts";
import { lastContent, openCalls } from "../adk/history.ts";
import { messageToContent } from "../adk/message-to-content.ts";
import { messageMetadata, storesMessage } from "../adk/new-events.ts";
import { emptyContent } from "../adk/request-run.ts";
import { cancelFamily, familyOf } from "../approval/family.ts";
import { dataApproval } from "../approval/outcome.ts";
import type { Progress, TurnLog } from "../log/turn-log.ts";
import { atMost } from "../support/index.ts";
import type { Turn } from "../turn-input.ts";
import { type ConversationContext, storeMessage } from "./context.ts";
import type { Conversation } from "./conversation.ts";
import { RequestSession } from "./request-session.ts";
import { updateHistory } from "./update-history.ts";

/**
 * A conversation by requests. New text ends what waits: every open call gets a response first. Outcomes go to the model
 * together, when every call of its step is settled.
 */
export class RequestConversation implements Conversation {
  readonly hasSpeech = false;
  readonly #turn: Turn;
  readonly #context: ConversationContext;
  readonly #session: RequestSession;
  /** Ends the chat's live connection: only one conversation may speak for the agent at a time. */
  readonly #closeLive: () => Promise<void>;

  constructor(turn: Turn, context: ConversationContext, closeLive: () => Promise<void>) {
    this.#turn = turn;
    this.#context = context;
    this.#session = new RequestSession(turn.chat, "request", context);
    this.#closeLive = closeLive;
  }

  get modelName(): string {
    return modelName(this.#context.agent);
  }

  async say(message: UIMessage): Promise<Approval[]> {
    await this.#closeLive();
    const ended = await this.#endWaitingCalls();
    await updateHistory(await this.#historyBefore(message), this.#turn.chat.id, { kind: "message" }, this.#context);
    const said = [messageToContent(message)];
    // Tools and callbacks see the user's message with its files.
    await this.#context.files.fillIn(said, this.#turn.chat.id);
    this.#session.begin(said[0] ?? emptyContent, messageMetadata(message));
    return ended;
  }

  async deliver(log: TurnLog): Promise<"ask" | Progress> {
    // Readers of the log get the outcome before the model does.
    await new Promise((resolve) => setImmediate(resolve));
    await this.#closeLive();
    return this.#session.resume({ turn: this.#turn, log });
  }

  async again(log: TurnLog): Promise<"ask" | Progress> {
    await this.#closeLive();
    for (const approval of await this.#endWaitingCalls()) await log.write(dataApproval(approval));
    return this.#session.resume({ turn: this.#turn, log });
  }

  async record(): Promise<void> {
    const session = await this.#context.sessions.load(this.#turn.chat);
    await updateHistory(session, this.#turn.chat.id, { kind: "record" }, this.#context);
  }

  listen(log: TurnLog): Promise<Progress> {
    return this.#session.run({ turn: this.#turn, log });
  }

  leave(): void {}

  async abandon(message: UIMessage | undefined): Promise<void> {
    if (message) await storeMessage(message, this.#turn.chat, this.#context);
  }

  /** The history without this message. If it ends with the message, a turn has failed, and the message is said again. */
  async #historyBefore(message: UIMessage): Promise<AdkSession> {
    const { store, sessions } = this.#context;
    const { chat } = this.#turn;
    const session = await sessions.load(chat);
    const last = lastContent(session.events);
    if (!last || !storesMessage(last, message)) return session;
    const stored = (await store.events(chat.id)).find(({ event }) => event["id"] === last.id);
    if (stored) await store.withdrawEvents(chat.id, stored.position);
    return sessions.load(chat);
  }

  /**
   * Cancels open calls that wait for a person or for a result from outside, and gives calls that run here a moment to end.
   * Returns the rows that this ended.
   */
  async #endWaitingCalls(): Promise<Approval[]> {
    const { store, sessions, executor, graceMs } = this.#context;
    const { chat } = this.#turn;
    const rows = await store.listApprovals({ chat: chat.id, told: false });
    const unsettled = rows.filter(({ session, state }) => session === chat.id && !isSettled(state));
    if (unsettled.length === 0) return [];
    const open = new Set(openCalls((await sessions.load(chat)).events).map(({ call }) => call.id));
    // The calls of the turn's own message stay: its reply is made again around them.
    const { reply } = this.#turn;
    const waiting = unsettled.filter(({ toolCallId, messageId }) => open.has(toolCallId) && messageId !== reply);
    const ended: Approval[] = [];
    for (const row of waiting)
      if (row.state === "pending" || (row.state === "approved" && row.external))
        ended.push(...(await cancelFamily(row, store)));
    const attempts = waiting.flatMap((row) => familyOf(row, rows)).flatMap(({ id }) => executor.attempt(id) ?? []);
    if (attempts.length > 0) await atMost(graceMs, Promise.allSettled(attempts));
    return ended;
  }
}
