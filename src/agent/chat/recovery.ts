import { isNotFound } from "../../protocol/index.ts";
import type { Approval, Session } from "../../stores/index.ts";
import { cancelFamily } from "../approval/family.ts";
import { atMost, describeError, Slots } from "../support/index.ts";
import type { ChatTurns } from "./chat-turns.ts";
import type { DueWork } from "./due-work.ts";
import { ChatElsewhere } from "./ownership.ts";
import { closeOpenTurns, type Interrupted, type RecoveryContext, unattendedAgents } from "./recover.ts";

/** How often agents run as tools are looked for whose turn has died with its node. */
const agentsMs = 30_000;

/** How many chats are taken at once, and how long one of them may keep the others waiting. */
const maxTaking = 4;
const takingMs = 5000;

/**
 * Takes over what other processes left: at a start what a crash has left, and later what nodes leave that die. Each chat is
 * recovered when it is taken, before anything else happens in it.
 */
export class Recovery {
  readonly #context: RecoveryContext;
  readonly #turns: ChatTurns;
  readonly #dueWork: DueWork;
  /** Replies to continue that were found at the start. They are continued together with what is due. */
  #found: Map<string, Interrupted> | undefined;
  #lookedForAgentsAt: number;
  readonly #taking = new Slots(maxTaking, takingMs);

  constructor(context: RecoveryContext, turns: ChatTurns, dueWork: DueWork) {
    this.#context = context;
    this.#turns = turns;
    this.#dueWork = dueWork;
    this.#lookedForAgentsAt = context.store.now();
  }

  async start(): Promise<void> {
    const found = new Map<string, Interrupted>();
    this.#found = found;
    this.#turns.start((chat) => this.#recover(chat));
    try {
      await this.#takeOpen();
      for (const { row, isLost } of await unattendedAgents(this.#context.store))
        if (isLost) await this.#cancelLost(row);
        else found.set(row.chat, { reply: row.messageId });
    } finally {
      this.#found = undefined;
    }
    await this.#dueWork.settleDue(found);
  }

  /**
   * Takes chats in which a turn is open that no node runs, and continues agents run as tools that no node runs. Does not
   * reject: what could not be done while the store was away is done by a later sweep.
   */
  async sweep(): Promise<void> {
    try {
      await this.#takeLeft();
    } catch (error) {
      this.#context.logger.error("Looking for chats that were left open failed.", { error: describeError(error) });
    }
  }

  async #takeLeft(): Promise<void> {
    await this.#takeOpen();
    const { store } = this.#context;
    if (Math.abs(store.now() - this.#lookedForAgentsAt) < agentsMs) return;
    this.#lookedForAgentsAt = store.now();
    for (const { row, isLost } of await unattendedAgents(store)) {
      if (this.#turns.isBusy(row.chat) || (await store.leaseOf(row.chat))) continue;
      if (isLost) await this.#cancelLost(row);
      else this.#dueWork.continue(row.chat, { reply: row.messageId });
    }
  }

  /** Ends a call that the model believes to be over. Earlier releases could leave one behind while the store was away. */
  async #cancelLost(row: Approval): Promise<void> {
    const { store } = this.#context;
    const cancel = async () => {
      await cancelFamily(row, store);
      await store.markTold(row.id, "cancelled");
    };
    await this.#turns.inChat(row.chat, cancel).catch(this.#report(row.chat));
  }

  async #takeOpen(): Promise<void> {
    const take = (chat: string) => this.#turns.inChat(chat, async () => undefined).catch(this.#report(chat));
    const left = (await this.#context.store.openTurns()).filter(({ chat }) => !this.#turns.isBusy(chat));
    await Promise.all(left.map(({ chat }) => this.#taking.run(() => atMost(takingMs, take(chat)))));
  }

  async #recover(chat: Session): Promise<void> {
    const interrupted = await closeOpenTurns(chat, this.#context);
    if (!interrupted) return;
    if (this.#found) this.#found.set(chat.id, interrupted);
    else this.#dueWork.continue(chat.id, interrupted);
  }

  #report(chat: string) {
    return (error: unknown) => {
      if (this.#turns.isClosed || isNotFound(error) || error instanceof ChatElsewhere) return;
      const fields = { chat, error: describeError(error) };
      this.#context.logger.error("A chat that was left open could not be continued.", fields);
    };
  }
}
