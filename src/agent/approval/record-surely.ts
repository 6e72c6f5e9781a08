import { setTimeout as delay } from "node:timers/promises";
import { BridgeError, isNotFound } from "../../protocol/index.ts";
import type { Approval, Change, Store } from "../../stores/index.ts";
import { describeError, type Logger } from "../support/index.ts";

const firstDelayMs = 50;
const longestDelayMs = 5000;

/**
 * Records a change that must not be lost, such as the outcome of a tool that has run. A write that fails is tried again, more
 * and more slowly, until it succeeds or the server stops. The caller keeps the lease meanwhile.
 */
export async function recordSurely(
  id: string,
  change: Change,
  { store, logger, signal }: { store: Store; logger: Logger; signal: AbortSignal },
): Promise<Approval> {
  for (let waitMs = firstDelayMs; ; waitMs = Math.min(2 * waitMs, longestDelayMs)) {
    try {
      const { approval } = await store.move(id, change);
      if (approval) return approval;
      break;
    } catch (error) {
      if (signal.aborted || isNotFound(error)) throw error;
      const fields = { approval: id, error: describeError(error) };
      logger.error("What became of a call could not be recorded; it is tried again.", fields);
    }
    await delay(waitMs, undefined, { signal, ref: false });
  }
  // Its chat was deleted.
  throw new BridgeError("not_found", `Approval ${id} is gone.`);
}
