import { BridgeError } from "../../protocol/index.ts";
import type { Approval, Store } from "../../stores/index.ts";

/** How many rows of a chat are looked at, the newest. */
const maxRows = 200;
/** How many questions a chat may ask while its owner is away. */
const maxUnseen = 3;
/** How often the same question may be asked then: once, and once again. */
const maxSame = 2;
/** How many visits are remembered. After that the oldest one counts only if the store knows it too. */
const maxVisits = 10_000;

export interface UnseenQuestionsOptions {
  store: Store;
  /** When the owner last wrote a message in the chat, by the log. */
  lastMessageAt: (chat: string) => Promise<number | undefined>;
}

/**
 * The questions of a chat that were asked since its owner was last there. If no one answers, a question expires, the model
 * is told, and it may ask again. Without a limit this goes on for as long as the owner is away, and each round costs a
 * request to the model.
 *
 * The owner is there with each request for the chat: a message, an answer, a decision, reading the messages, opening a
 * socket. Messages and decisions are in the store. Other visits are remembered here only, so a restart forgets them, and
 * the limit is reached sooner, never later.
 */
export class UnseenQuestions {
  readonly #options: UnseenQuestionsOptions;
  /** The last visit to each chat, by owner and name, the oldest first. */
  readonly #visits = new Map<string, number>();

  constructor(options: UnseenQuestionsOptions) {
    this.#options = options;
  }

  /** The owner of a chat is there. */
  noteVisit(owner: string, chatName: string): void {
    const key = JSON.stringify([owner, chatName]);
    this.#visits.delete(key);
    this.#visits.set(key, this.#options.store.now());
    for (const oldest of this.#visits.keys()) {
      if (this.#visits.size <= maxVisits) return;
      this.#visits.delete(oldest);
    }
  }

  /** True when the model may be asked although no client has caused it. `ended` is what it would be told about. */
  async mayAskModel(chat: string, ended: readonly Approval[]): Promise<boolean> {
    const unseen = await this.#unseen(chat);
    if (unseen.length >= maxUnseen) return false;
    const isSame = (one: Approval, other: Approval) => one.toolName === other.toolName && one.input === other.input;
    return ended.every((row) => unseen.filter((other) => isSame(row, other)).length < maxSame);
  }

  /** Throws when a turn that no client has caused may not ask another question. */
  async refusePast(chat: string): Promise<void> {
    if ((await this.#unseen(chat)).length < maxUnseen) return;
    throw new BridgeError(
      "too_many",
      `The user is away, and ${maxUnseen} questions have been asked since. Ask again when the user has written.`,
    );
  }

  async #unseen(chat: string): Promise<Approval[]> {
    const rows = await this.#options.store.listApprovals({ chat, newest: maxRows });
    const seenAt = await this.#seenAt(chat, rows);
    return rows.filter((row) => row.createdAt >= seenAt && isUnanswered(row));
  }

  async #seenAt(chat: string, rows: readonly Approval[]): Promise<number> {
    const { store, lastMessageAt } = this.#options;
    const { owner, name } = (await store.getSession(chat)) ?? {};
    const visit = this.#visits.get(JSON.stringify([owner, name])) ?? 0;
    const decision = Math.max(0, ...rows.map(({ decidedAt = 0 }) => decidedAt));
    return Math.max(visit, decision, (await lastMessageAt(chat)) ?? 0);
  }
}

/** A question without an answer, or a call whose result did not come in time. */
function isUnanswered({ state, gated, decidedAt, external, innerSession }: Approval): boolean {
  if (gated && decidedAt === undefined) return state === "pending" || state === "expired";
  return external && innerSession === undefined && (state === "expired" || state === "indeterminate");
}
