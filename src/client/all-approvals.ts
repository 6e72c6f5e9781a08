import type { ApprovalView } from "../protocol/approval.ts";
import { approvalLedger, type LedgerOptions } from "./approval-ledger.ts";
import type { ChatApprovals } from "./chat-approvals.ts";
import { serverRequests, type ServerRequests } from "./server-requests.ts";

/** Where the approvals are read, and how answers are sent. All may be left out. */
export interface AllApprovalsOptions extends LedgerOptions {}

/** A page has up to 1,000 questions. */
const maxPages = 10;

/** Every question that waits for a person, in all chats, with the same outbox as in a chat. */
export class AllApprovals implements ChatApprovals {
  readonly #server: ServerRequests;
  readonly #ledger: ReturnType<typeof approvalLedger>;
  declare readonly get: ChatApprovals["get"];
  declare readonly list: ChatApprovals["list"];
  declare readonly answer: ChatApprovals["answer"];
  declare readonly resolve: ChatApprovals["resolve"];
  declare readonly retry: ChatApprovals["retry"];
  declare readonly subscribe: (listener: () => void) => () => void;
  /** Asks the server now. */
  declare readonly refresh: () => Promise<void>;

  constructor(options: AllApprovalsOptions = {}) {
    this.#server = serverRequests(options);
    this.#ledger = approvalLedger(options, { server: this.#server, chat: { messages: [] }, ask: () => this.#ask() });
    Object.assign(this, this.#ledger.approvals);
  }

  /** Changes whenever something else changes here. */
  get version(): number {
    return this.#ledger.version();
  }

  open(): void {
    this.#ledger.open();
  }

  close(): void {
    this.#ledger.close();
  }

  async #ask(): Promise<void> {
    const { rows, outbox, receive, changed } = this.#ledger;
    const read = [...(await this.#read("pending")), ...(await this.#read("indeterminate"))];
    // What no longer waits for a person was decided elsewhere, unless its outcome is known here.
    for (const [id, { state }] of rows)
      if (state === "indeterminate" || (state === "pending" && !outbox.get(id))) rows.delete(id);
    for (const reply of read) receive(reply);
    changed();
  }

  /** All pages of the list. */
  async #read(state: string) {
    const pages = [];
    for (let after: string | undefined = ""; after !== undefined && pages.length < maxPages;) {
      const path: string = `/approvals?state=${state}${after}`;
      const page = await this.#server.read<{ approvals: ApprovalView[]; cursor?: string }>(path);
      pages.push(page);
      const { cursor } = page.body;
      after = cursor && `&cursor=${encodeURIComponent(cursor)}`;
    }
    return pages;
  }
}
