import type { ApprovalView } from "../protocol/approval.ts";
import { approvalInfo } from "./approval-info.ts";
import { ApprovalOutbox, type OutboxOptions } from "./approval-outbox.ts";
import { resolveApproval } from "./attach-approvals.ts";
import type { ApprovalAnswer, ApprovalInfo, ApprovalResolution, ChatApprovals } from "./chat-approvals.ts";
import { Listeners } from "./listeners.ts";
import { type ServerOptions, ServerRequests } from "./server-requests.ts";
import { systemTimers } from "./timers.ts";
import { watchReturn } from "./watch-return.ts";

/** Where the approvals are read, and how answers are sent. All may be left out. */
export interface AllApprovalsOptions
  extends
    ServerOptions,
    Pick<OutboxOptions, "actor" | "storage" | "maxAttempts" | "maxAgeMs" | "now" | "random" | "timers"> {
  /** How often the server is asked. Default 5 seconds. */
  pollMs?: number | undefined;
}

/** A page has up to 1,000 questions. */
const maxPages = 10;

/** Every question that waits for a person, in all chats, with the same outbox as in a chat. */
export class AllApprovals implements ChatApprovals {
  readonly #options: AllApprovalsOptions;
  readonly #server: ServerRequests;
  readonly #outbox: ApprovalOutbox;
  readonly #listeners = new Listeners();
  readonly #rows = new Map<string, ApprovalView>();
  #infos = new Map<string, ApprovalInfo>();
  #clockOffset = 0;
  #timer: unknown;
  #unwatch: (() => void) | undefined;
  version = 0;

  constructor(options: AllApprovalsOptions = {}) {
    this.#options = options;
    this.#server = new ServerRequests(options);
    this.#outbox = new ApprovalOutbox({
      ...options,
      server: this.#server,
      onChange: ({ decided }) => {
        if (decided) this.#rows.set(decided.approvalId, decided);
        this.#changed();
      },
    });
  }

  get = (approvalId: string): ApprovalInfo | undefined => this.#infos.get(approvalId);
  list = (): ApprovalInfo[] => [...this.#infos.values()];
  answer = (approvalId: string, answer: ApprovalAnswer): Promise<void> => this.#outbox.send(approvalId, answer);
  retry = (approvalId: string): void => this.#outbox.retry(approvalId);
  resolve = async (approvalId: string, resolution: ApprovalResolution): Promise<void> => {
    await resolveApproval(this.#server, approvalId, resolution);
    await this.refresh();
  };

  subscribe = this.#listeners.subscribe;

  open(): void {
    this.#unwatch ??= watchReturn(() => void this.refresh());
    this.#outbox.open();
    void this.refresh();
  }

  close(): void {
    const { timers = systemTimers } = this.#options;
    this.#unwatch?.();
    this.#unwatch = undefined;
    timers.clearTimeout(this.#timer);
    this.#outbox.close();
  }

  /** Asks the server now. */
  refresh = async (): Promise<void> => {
    const { timers = systemTimers, pollMs = 5000 } = this.#options;
    timers.clearTimeout(this.#timer);
    const read = await Promise.all([this.#read("pending"), this.#read("indeterminate")]);
    if (read.every((rows) => rows !== undefined)) {
      // What no longer waits for a person was decided elsewhere, unless its outcome is known here.
      for (const [id, { state }] of this.#rows)
        if (state === "indeterminate" || (state === "pending" && !this.#outbox.get(id))) this.#rows.delete(id);
      for (const row of read.flat()) this.#rows.set(row.approvalId, row);
      this.#outbox.wake();
      this.#changed();
    }
    timers.clearTimeout(this.#timer);
    if (this.#unwatch) this.#timer = timers.setTimeout(() => void this.refresh(), pollMs);
  };

  /** All pages of the list; undefined if one could not be read. */
  async #read(state: string): Promise<ApprovalView[] | undefined> {
    const rows: ApprovalView[] = [];
    let after = "";
    for (let page = 0; page < maxPages; page += 1) {
      const path = `/approvals?state=${state}${after}`;
      const reply = await this.#server
        .read<{ approvals: ApprovalView[]; cursor?: string }>(path)
        .catch(() => undefined);
      if (!reply) return undefined;
      const { approvals, cursor } = reply.body;
      this.#clockOffset = reply.clockOffset;
      rows.push(...approvals);
      if (cursor === undefined) break;
      after = `&cursor=${encodeURIComponent(cursor)}`;
    }
    return rows;
  }

  #changed(): void {
    const next = new Map<string, ApprovalInfo>();
    for (const [id, row] of this.#rows) {
      const info = approvalInfo(id, { row, answer: this.#outbox.get(id), clockOffset: this.#clockOffset });
      const before = this.#infos.get(id);
      if (info) next.set(id, JSON.stringify(before) === JSON.stringify(info) && before ? before : info);
    }
    this.#infos = next;
    this.version += 1;
    this.#listeners.notify();
  }
}
