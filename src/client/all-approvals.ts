import type { ApprovalView } from "../protocol/approval.ts";
import { type ApprovalLedger, approvalLedger, type LedgerOptions } from "./approval-ledger.ts";
import type { ChatApprovals } from "./chat-approvals.ts";

/** Where the approvals are read, and how answers are sent. All may be left out. */
export interface AllApprovalsOptions extends LedgerOptions {}

/** A page has up to 1,000 questions. */
const maxPages = 10;

/** Every question that waits for a person, in all chats, with the same outbox as in a chat. */
export class AllApprovals implements ChatApprovals {
  declare readonly get: ChatApprovals["get"];
  declare readonly list: ChatApprovals["list"];
  declare readonly answer: ChatApprovals["answer"];
  declare readonly resolve: ChatApprovals["resolve"];
  declare readonly retry: ChatApprovals["retry"];
  declare readonly subscribe: (listener: () => void) => () => void;
  /** Asks the server now. */
  declare readonly refresh: () => Promise<void>;
  /** Begins: sends answers that were left, and asks the server until `close`. */
  declare readonly open: () => void;
  declare readonly close: () => void;
  readonly #ledger: ApprovalLedger;

  constructor(options: AllApprovalsOptions = {}) {
    const ledger = approvalLedger(options, { messages: [] }, ask);
    this.#ledger = ledger;
    Object.assign(this, ledger.approvals);

    async function ask(): Promise<void> {
      const { server, rows, outbox } = ledger;
      const pages = [];
      for (const state of ["pending", "indeterminate"])
        for (let after: string | undefined = "", page = 0; after !== undefined && page < maxPages; page += 1) {
          const path: string = `/approvals?state=${state}${after}`;
          const reply = await server.read<{ approvals: ApprovalView[]; cursor?: string }>(path);
          pages.push(reply);
          const { cursor } = reply.body;
          after = cursor && `&cursor=${encodeURIComponent(cursor)}`;
        }
      // What no longer waits for a person was decided elsewhere, unless its outcome is known here.
      for (const [id, { state }] of rows)
        if (state === "indeterminate" || (state === "pending" && !outbox.get(id))) rows.delete(id);
      for (const reply of pages) ledger.receive(reply);
      ledger.changed();
    }
  }

  /** Changes whenever something else changes here. */
  get version(): number {
    return this.#ledger.version();
  }
}
