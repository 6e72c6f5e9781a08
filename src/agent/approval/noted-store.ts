import type { Approval, AuditEntry, Store } from "../../stores/index.ts";
import { overrideStore } from "../../stores/override-store.ts";
import { type Logger, metrics } from "../support/index.ts";

type Event = AuditEntry["event"];

const sentences: Record<Event, string> = {
  create: "A person is asked about a call.",
  approve: "A call was approved.",
  deny: "A call was denied.",
  expire: "A call has expired.",
  cancel: "A call was cancelled.",
  claim: "A call was claimed.",
  reclaim: "A call was claimed again after its attempt was lost.",
  begin: "A call has begun, and its result will be reported.",
  succeed: "A call has succeeded.",
  fail: "A call has failed.",
  lose: "It is not known what became of a call.",
};

/**
 * The store, which logs one line for each change of an approval and counts it. A line has ids and states. It names neither
 * people nor arguments, reasons or results: those are in the ledger, which is found by the id.
 */
export function notedStore(store: Store, logger: Logger): Store {
  const note = (event: Event, row: Approval) => {
    try {
      noteChange(event, row, { logger, now: () => store.now() });
    } catch {
      // The change has been made. A logger that fails must not make it look otherwise.
    }
  };
  const own: Pick<Store, "createApproval" | "move"> = {
    async createApproval(approval, limits) {
      const row = await store.createApproval(approval, limits);
      // Otherwise the call had a row already.
      if (row.id === approval.id) note("create", row);
      return row;
    },

    async move(id, change) {
      const moved = await store.move(id, change);
      if (moved.applied && moved.approval) note(moved.applied, moved.approval);
      return moved;
    },
  };
  return overrideStore(store, own);
}

function noteChange(event: Event, row: Approval, { logger, now }: { logger: Logger; now: () => number }): void {
  const { id: approval, chat, toolName: tool, state, mode, gated, fence, decidedAt } = row;
  metrics.approvals.changes.add(1, { event, state, tool });
  const isFirstClaim = event === "claim" && decidedAt !== undefined;
  const delayMs = isFirstClaim ? Math.max(0, now() - decidedAt) : undefined;
  if (delayMs !== undefined) metrics.approvals.claimDelay.record(delayMs);
  const sentence = event === "create" && !gated ? "A call waits for its result; no one is asked." : sentences[event];
  logger.info(sentence, {
    ...{ event, approval, chat, tool, state, mode },
    ...((event === "claim" || event === "reclaim") && { fence }),
    ...(delayMs !== undefined && { delayMs }),
  });
}
