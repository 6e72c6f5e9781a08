import { BridgeError } from "../../protocol/index.ts";
import type { Approval } from "../../stores/index.ts";
import { HoldUnknown } from "../adk/entered-run.ts";
import { tryAgain } from "../support/index.ts";

/**
 * Creates a row with `create`, which finds the one that exists for the same call. A store that fails may have created it all
 * the same, or may be about to: reading would not see that, so the row is created again. Throws {@link HoldUnknown} if the
 * store is away for so long that it is not known whether there is a row.
 */
export async function createSurely(create: () => Promise<Approval>): Promise<Approval> {
  let isUnknown = false;
  const isFinal = (error: unknown) => {
    isUnknown ||= isAway(error);
    return !isAway(error);
  };
  try {
    return await tryAgain(create, isFinal);
  } catch (error) {
    throw isUnknown ? new HoldUnknown({ cause: error }) : error;
  }
}

/** True if something happened to a connection or a file. When the store itself has refused the row, there is no such cause. */
function isAway(error: unknown): boolean {
  return error instanceof BridgeError && error.code === "unavailable" && error.cause !== undefined;
}
