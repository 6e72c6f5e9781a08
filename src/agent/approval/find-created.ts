import { BridgeError } from "../../protocol/index.ts";
import { type Approval, NotOwner, type Store } from "../../stores/index.ts";
import { HoldUnknown } from "../adk/entered-run.ts";
import { tryAgain } from "../support/index.ts";

/**
 * The row that was to be created when the store failed with this error: it may be there, and only the reply was lost. Throws
 * the error if there is none, and {@link HoldUnknown} if the store is away for so long that it cannot be asked.
 */
export async function findCreated(id: string, error: unknown, store: Pick<Store, "getApproval">): Promise<Approval> {
  const isRefusal = error instanceof NotOwner || (error instanceof BridgeError && error.code !== "unavailable");
  if (isRefusal) throw error;
  const row = await tryAgain(() => store.getApproval(id)).catch(() => {
    throw new HoldUnknown();
  });
  if (!row) throw error;
  return row;
}
