import type { ApprovalView } from "adk-stream-protocol/protocol";
import type { Ledger } from "./api.ts";

/** A page of a chat's approvals, oldest first. `cursor` names the next page. */
export interface LedgerPage extends Ledger {
  cursor?: string;
}

/**
 * Reads the approvals of one chat, page by page and again and again. Pages in which nothing can change any more are not read
 * again, so a look costs the same however long the chat is.
 */
export class LedgerPages {
  #settled: readonly ApprovalView[] = [];
  /** The page after the settled ones. */
  #cursor: string | undefined;

  async read(fetchPage: (cursor: string | undefined) => Promise<LedgerPage>): Promise<Ledger> {
    const approvals = [...this.#settled];
    let cursor = this.#cursor;
    let first: LedgerPage | undefined;
    let isSettled = true;
    for (;;) {
      const page = await fetchPage(cursor);
      // The chat has nothing yet, or was deleted.
      if (page.sequence === 0) {
        this.#settled = [];
        this.#cursor = undefined;
        return page;
      }
      // Rows that change while the later pages are read make the sequence number rise, so they are read again.
      first ??= page;
      approvals.push(...page.approvals);
      ({ cursor } = page);
      if (cursor === undefined) return { approvals, sequence: first.sequence };
      isSettled &&= page.approvals.every(({ state }) => final.has(state));
      if (!isSettled) continue;
      this.#settled = [...approvals];
      this.#cursor = cursor;
    }
  }
}

/** A call whose outcome is unknown may still be resolved. */
const final: ReadonlySet<ApprovalView["state"]> = new Set(["succeeded", "failed", "denied", "expired", "cancelled"]);
