import type { Approval, Store } from "../../stores/index.ts";
import type { Released } from "../adk/run-scope.ts";
import { describeError, type Logger, tryAgain } from "../support/index.ts";
import { cancelFamily, tellable, withFamilies } from "./family.ts";

const nothing: Released = { done: {}, unknown: [] };

/** States of calls that have not run and never will. */
const neverRan: ReadonlySet<string> = new Set<Approval["state"]>(["cancelled", "denied", "expired"]);

/**
 * Cancels a call that could not be shown, or whose agent could not go on. If it has not run and never will, the model may be
 * told so now, with what the calls of the agent have done: those of them that a person has approved go on. Otherwise the row
 * says what the model is told: the call has begun, a person has approved it, `isLeft` became true because another node goes
 * on with it, or the store was away for so long that it is not known what became of the row.
 *
 * A failure of the store is often what brought us here, so it is tried again. A row that stayed open beside a response would
 * be answered although the model was told that the call was not run. The row of an agent would wait for ever.
 */
export async function releaseCall(
  call: Approval,
  isLeft: () => boolean,
  { store, logger }: { store: Store; logger: Logger },
): Promise<Released | undefined> {
  let isCancelled = false;
  const release = async (): Promise<Released | undefined> => {
    if (isLeft()) return undefined;
    // An agent may have asked before it was interrupted. Nothing would tell the model what a yes leads to.
    const ended = await cancelFamily(call, store, "The call could not be shown.");
    isCancelled ||= ended.some(({ id }) => id === call.id);
    const row = await store.getApproval(call.id);
    if (!row) return nothing;
    if (!neverRan.has(row.state)) return undefined;
    const { response, unknown } = tellable(row, await withFamilies([row], store));
    // What the agent's calls have done is told when the history has it: the response may be lost on its way there.
    if (response.calls) return { done: { calls: response.calls }, unknown };
    // A row that cannot be marked, because its chat was given back, is marked when the history is brought up to date.
    if (isCancelled) await store.markTold(call.id).catch(() => undefined);
    return nothing;
  };
  try {
    return await tryAgain(release, isLeft);
  } catch (error) {
    if (!isLeft())
      logger.error("An unshown call was not cancelled.", { approval: call.id, error: describeError(error) });
    return isCancelled && call.innerSession === undefined ? nothing : undefined;
  }
}
