import type { LogEntry, Store } from "../../stores/index.ts";
import type { LogNews } from "../../stores/log-store.ts";
import { isMeasured, metrics } from "../support/index.ts";
import { chatDeleted } from "./chat-deleted.ts";

/** How many entries are read at once, and how many that the watch brought may wait for a slow reader. */
const batchSize = 256;

const none: readonly LogEntry[] = [];

/**
 * Reads a chat's log after an entry, in order, and says when there is more. The store's watch is a hint; the log is the
 * truth: entries that the watch brings are used only if they directly follow what was read. While nothing is read, this
 * is all that a reader needs: there may be thousands who wait.
 */
export class LogReader {
  readonly #store: Store;
  readonly #chat: string;
  readonly #onNews: () => void;
  readonly #unwatch: () => void;
  #cursor: number;
  /** Entries that the watch brought since the log was read; undefined when the log has to be read. */
  #brought: readonly LogEntry[] | undefined;
  #isDeleted = false;
  /** True when the store was asked whether the chat is there. Later deletions are brought by the watch. */
  #isKnown = false;
  /** True until the log has been read to its end. */
  #isBehind = true;
  /** True when everything had been read when the next entries came. */
  #hasWaited = false;

  constructor(store: Store, chat: string, { after, onNews }: { after: number; onNews: () => void }) {
    this.#store = store;
    this.#chat = chat;
    this.#onNews = onNews;
    this.#cursor = after;
    this.#unwatch = store.watch(chat, (news) => this.#take(news));
  }

  /** True until the log has been read to its end: what is read was written before. */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  /** True if `read` may bring more. */
  get hasNews(): boolean {
    return this.#isDeleted || this.#brought !== none;
  }

  /**
   * Some of the next entries; none if all were read. Throws when the chat was deleted and nothing is left of it. The end of
   * the log is looked for in the store only after news that do not say it, or `fromStore`.
   */
  async read({ fromStore = false } = {}): Promise<readonly LogEntry[]> {
    const known = fromStore ? undefined : followers(this.#brought, this.#cursor);
    // Emptied before the log is read: what is appended meanwhile is in one of them, or in both.
    this.#brought = none;
    const entries = known ?? (await this.#readStore());
    const isEnd = known !== undefined || entries.length < batchSize;
    if (!isEnd) this.#brought = undefined;
    const last = entries.at(-1);
    if (last) {
      this.#cursor = last.sequence;
      if (this.#hasWaited && isMeasured()) metrics.log.lag.record(Math.max(0, this.#store.now() - last.at));
    }
    if (isEnd) this.#isBehind = false;
    this.#hasWaited = !last;
    if (this.#isDeleted && !last) throw chatDeleted;
    return entries;
  }

  close(): void {
    this.#unwatch();
  }

  async #readStore(): Promise<readonly LogEntry[]> {
    try {
      const asked = this.#store.read(this.#chat, { after: this.#cursor, limit: batchSize });
      if (this.#isKnown) return await asked;
      // The chat may have been deleted before the watch began. Its entries may still be there for a moment.
      const [entries, session] = await Promise.all([asked, this.#store.getSession(this.#chat)]);
      this.#isKnown = true;
      if (!session) this.#isDeleted = true;
      return entries;
    } catch (error) {
      this.#brought = undefined;
      throw error;
    }
  }

  #take({ entries, isDeleted }: LogNews): void {
    if (isDeleted) this.#isDeleted = true;
    const brought = this.#brought;
    this.#brought =
      entries && brought && brought.length + entries.length <= batchSize ? [...brought, ...entries] : undefined;
    this.#onNews();
  }
}

/** The entries after a sequence number; undefined if one is missing. */
function followers(entries: readonly LogEntry[] | undefined, after: number): readonly LogEntry[] | undefined {
  if (entries?.length === 0) return entries;
  const later = entries?.filter(({ sequence }) => sequence > after);
  return later?.every(({ sequence }, index) => sequence === after + index + 1) ? later : undefined;
}
