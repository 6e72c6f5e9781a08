import type { ApprovalView } from "../protocol/approval.ts";
import type { ApprovalAnswer } from "./chat-approvals.ts";
import { ifPossible } from "./if-possible.ts";
import { newKey } from "./new-key.ts";
import { reconnectDelay } from "./reconnect-delay.ts";
import { refusalOf, type ServerRequests } from "./server-requests.ts";
import { systemTimers, type Timers } from "./timers.ts";
import { watchReturn } from "./watch-return.ts";

/** What a browser's `sessionStorage` has of an answer. */
interface KeptAnswer extends ApprovalAnswer {
  /** The same with every attempt, so that the server records one decision. */
  key: string;
  /** When it was given. */
  at: number;
  chatId?: string;
  api?: string;
  actor?: string;
}

/** An answer that was given in this page. */
export interface SentAnswer extends KeptAnswer {
  approvalId: string;
  /** Why it could not be delivered. It is not sent again before a person says so. */
  problem?: string;
  /** How the approval stands, once the server has recorded a decision. */
  decided?: ApprovalView;
  /** True if another decision counts. */
  isElsewhere?: boolean;
}

export interface OutboxOptions {
  server: Pick<ServerRequests, "json">;
  chatId?: string | undefined;
  /** Where the server's routes are: an answer is sent to the server that asked. */
  api?: string | undefined;
  /**
   * Who is signed in, by any name. An answer that was not delivered is not sent for another person who signs in later in the
   * same tab. Default: not known. Then remove what `sessionStorage` has when a person signs out.
   */
  actor?: string | undefined;
  /** Keeps answers that were not delivered when the page is loaded again. Default: the tab's `sessionStorage`. */
  storage?: Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length"> | undefined;
  /** How often the server may reply without settling one answer before a person has to say that it shall be sent again. Default 12. */
  maxAttempts?: number | undefined;
  /** After how long an answer is no longer sent by itself, because the person may have changed their mind. Default 10 min. */
  maxAgeMs?: number | undefined;
  /** The clock, in milliseconds. Default `Date.now`. */
  now?: (() => number) | undefined;
  /** Spreads the attempts of many clients to send again. Default `Math.random`. */
  random?: (() => number) | undefined;
  /** For tests that hold the time. Default: the global timers. */
  timers?: Timers | undefined;
  /** An answer has changed. If it was decided, what follows from that is awaited before `send` resolves. */
  onChange: (answer: SentAnswer) => Promise<void> | void;
}

interface Entry {
  answer: SentAnswer;
  attempts: number;
  /** How many of them had a reply. */
  replies: number;
  timer?: unknown;
  isSending: boolean;
  /** True if the last attempt had no reply. */
  isUnreached: boolean;
  /** Resolves when the server has recorded a decision; rejects with the problem. */
  waiting: { resolve: () => void; reject: (error: Error) => void }[];
}

const prefix = "adk-stream-protocol:answer:";
/** A server that asks for more time than this is asked before it. */
const longestWaitMs = 60_000;

/**
 * Delivers answers to the server. An answer counts only when the server has acknowledged it: until then it is kept, also
 * when the page is loaded again, and sent again with the same key after a cut or a failed request.
 */
export class ApprovalOutbox {
  readonly #options: OutboxOptions;
  readonly #timers: Timers;
  readonly #now: () => number;
  readonly #storage: OutboxOptions["storage"];
  readonly #entries = new Map<string, Entry>();
  #unwatch: (() => void) | undefined;
  #isClosed = false;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#timers = options.timers ?? systemTimers;
    this.#now = options.now ?? Date.now;
    this.#storage = "storage" in options ? options.storage : ifPossible(() => globalThis.sessionStorage);
  }

  /** Sends what an earlier load of this page has left, and what was not delivered before `close`. */
  open(): void {
    this.#isClosed = false;
    this.#unwatch ??= watchReturn(() => this.wake());
    for (const entry of this.#entries.values())
      if (!entry.answer.decided && entry.answer.problem === undefined) void this.#deliver(entry);
    for (const answer of this.#kept()) if (!this.#entries.has(answer.approvalId)) void this.#deliver(this.#add(answer));
  }

  /** What an earlier load has left; nothing if the browser does not let the page read it. */
  #kept(): SentAnswer[] {
    const read = () => {
      const storage = this.#storage;
      const keys = Array.from({ length: storage?.length ?? 0 }, (_, index) => storage?.key(index) ?? "");
      return keys.flatMap((key) => {
        const kept = key.startsWith(prefix) ? parse(storage?.getItem(key)) : undefined;
        return kept && this.#isMine(kept) ? [{ ...kept, approvalId: key.slice(prefix.length) }] : [];
      });
    };
    return ifPossible(read) ?? [];
  }

  /** The server can be reached: answers that did not get there are sent now. */
  wake(): void {
    for (const entry of this.#entries.values())
      if (entry.timer !== undefined && entry.isUnreached) void this.#deliver(entry);
  }

  #isMine(kept: KeptAnswer): boolean {
    const { chatId, api, actor } = this.#options;
    return kept.chatId === chatId && kept.api === api && kept.actor === actor;
  }

  get(approvalId: string): SentAnswer | undefined {
    return this.#entries.get(approvalId)?.answer;
  }

  /** Sends an answer. The second click on a card joins the first; another answer counts only if the first was not delivered. */
  send = (approvalId: string, { approved, reason }: ApprovalAnswer): Promise<void> => {
    let entry = this.#entries.get(approvalId);
    if (entry?.answer.decided) return Promise.resolve();
    if (!entry || (entry.answer.problem !== undefined && entry.answer.approved !== approved)) {
      const { chatId, api, actor } = this.#options;
      const given = { approvalId, approved, reason, key: newKey(), at: this.#now() };
      entry = this.#add({ ...given, chatId, api, actor });
    }
    const { waiting } = entry;
    const sent = new Promise<void>((resolve, reject) => waiting.push({ resolve, reject }));
    this.#begin(entry);
    return sent;
  };

  /** Sends an answer again that could not be delivered. */
  retry = (approvalId: string): void => {
    const entry = this.#entries.get(approvalId);
    if (entry && !entry.answer.decided) this.#begin(entry);
  };

  close(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#isClosed = true;
    for (const entry of this.#entries.values()) {
      this.#timers.clearTimeout(entry.timer);
      entry.timer = undefined;
    }
  }

  #add(answer: SentAnswer): Entry {
    const entry: Entry = { answer, attempts: 0, replies: 0, isSending: false, isUnreached: false, waiting: [] };
    this.#entries.set(answer.approvalId, entry);
    return entry;
  }

  /** A person wants the answer to be sent. */
  #begin(entry: Entry): void {
    if (entry.isSending || entry.timer !== undefined) return;
    entry.attempts = entry.replies = 0;
    this.#change(entry, { problem: undefined, at: this.#now() });
    void this.#deliver(entry);
  }

  async #deliver(entry: Entry): Promise<void> {
    const { maxAttempts = 12, maxAgeMs = 600_000, server, random = Math.random } = this.#options;
    const { approvalId, approved, reason, key, at } = entry.answer;
    if (entry.isSending) return;
    this.#timers.clearTimeout(entry.timer);
    entry.timer = undefined;
    if (this.#now() - at > maxAgeMs) return this.#fail(entry, "This answer is too old to be sent. Answer again.");
    entry.isSending = true;
    entry.attempts += 1;
    const path = `/approvals/${encodeURIComponent(approvalId)}`;
    const given = { approved, key, reason };
    const reply = await server.json<{ approval?: ApprovalView }>(path, { body: given }).catch(() => undefined);
    entry.isSending = false;
    entry.isUnreached = reply === undefined;
    // Without a connection there is no loop, so the answer goes on until it is too old.
    if (reply) {
      const { status, body } = reply;
      entry.replies += 1;
      if (body.approval) {
        this.#change(entry, { decided: body.approval, isElsewhere: status === 409 });
        await this.#options.onChange(entry.answer);
        for (const { resolve } of entry.waiting.splice(0)) resolve();
        return;
      }
      const mayPass = status === 0 || status === 408 || status === 429 || status >= 500;
      if (!mayPass) return this.#fail(entry, refusalOf(reply).message);
      if (entry.replies >= maxAttempts)
        return this.#fail(entry, `The answer was sent ${entry.replies} times without a reply that settles it.`);
    }
    // The next `open` sends it.
    if (this.#isClosed) return;
    const delay = Math.max(
      reconnectDelay(entry.attempts, random),
      Math.min((reply?.retryAfter ?? 0) * 1000, longestWaitMs),
    );
    entry.timer = this.#timers.setTimeout(() => void this.#deliver(entry), delay);
  }

  #fail(entry: Entry, problem: string): void {
    this.#change(entry, { problem });
    for (const { reject } of entry.waiting.splice(0)) reject(new Error(problem));
  }

  #change(entry: Entry, change: { [Key in keyof SentAnswer]?: SentAnswer[Key] | undefined }): void {
    entry.answer = { ...entry.answer, ...change };
    const { approvalId, decided, problem } = entry.answer;
    // If the browser forbids storage or has no room, the answer lasts as long as the page.
    ifPossible(() => {
      if (decided || problem !== undefined) this.#storage?.removeItem(prefix + approvalId);
      else this.#storage?.setItem(prefix + approvalId, JSON.stringify(entry.answer));
    });
    if (!decided) void this.#options.onChange(entry.answer);
  }
}

function parse(text: string | null | undefined): KeptAnswer | undefined {
  const kept = ifPossible(() => JSON.parse(text ?? "null") as Partial<KeptAnswer> | null);
  const isAnswer = typeof kept?.approved === "boolean" && typeof kept.key === "string" && typeof kept.at === "number";
  return isAnswer ? (kept as KeptAnswer) : undefined;
}
