import { useEffect, useState } from "react";
import type { StreamTap } from "./stream-tap.ts";

const ends: ReadonlySet<string> = new Set(["finish-step", "finish", "parked"]);

/** True from the end of a step of a reply until the next step. The reply may wait for someone then. */
export function useStepEnded(tap: StreamTap): boolean {
  const [hasEnded, setEnded] = useState(false);
  useEffect(
    () =>
      tap.onChunk((type) => {
        if (ends.has(type)) setEnded(true);
        if (type === "start-step") setEnded(false);
      }),
    [tap],
  );
  return hasEnded;
}
