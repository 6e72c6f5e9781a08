import { isPause } from "../../agent/index.ts";
import type { View } from "./view.ts";

/**
 * The view of a reader that gets all turns of one message as one reply: without the end of a turn that pauses, and without
 * the beginning of the turn that goes on. Each turn gets a view of its own.
 */
export function joinTurns(newView: (isFirst: boolean) => View): View {
  let view: View | undefined;
  return async (chunk) => {
    const isFirst = view === undefined;
    if (chunk.type === "start" || !view) view = newView(isFirst);
    const seen = await view(chunk);
    const isLeftOut = (chunk.type === "start" && !isFirst) || isPause(chunk);
    return isLeftOut ? seen.filter(({ type }) => type !== chunk.type) : seen;
  };
}
