import type { AgentChatHelpers } from "adk-stream-protocol/react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

export interface OlderMessages {
  state: "none" | "more" | "loading" | "failed";
  load: () => void;
  /** Loads all older messages, unless it is stopped. */
  goToBeginning: () => void;
  isGoingToBeginning: boolean;
  stopGoing: () => void;
}

/** How many messages are loaded at once on the way to the beginning. They are not drawn. */
const messagesOnTheWay = 500;

/** Reads a long chat page by page, from its end. */
export function useOlderMessages({
  hasOlder,
  loadOlder,
}: Pick<AgentChatHelpers, "hasOlder" | "loadOlder">): OlderMessages {
  const [attempt, setAttempt] = useState<"loading" | "failed">();
  const [isGoing, setGoing] = useState(false);
  const loading = useRef(false);
  const load = useCallback(
    async (limit?: number) => {
      if (loading.current) return;
      loading.current = true;
      setAttempt("loading");
      const isLoaded = await loadOlder(limit);
      loading.current = false;
      setAttempt(isLoaded ? undefined : "failed");
    },
    [loadOlder],
  );

  const state = hasOlder ? (attempt ?? "more") : "none";
  const isOver = state === "none" || state === "failed";
  useEffect(() => {
    if (!isGoing) return undefined;
    if (isOver) setGoing(false);
    if (isOver || state === "loading") return undefined;
    // The page draws what it has before it asks for more.
    const frame = requestAnimationFrame(() => void load(messagesOnTheWay));
    return () => cancelAnimationFrame(frame);
  }, [isGoing, isOver, state, load]);

  return useMemo(
    (): OlderMessages => ({
      state,
      load: () => void load(),
      goToBeginning: () => setGoing(true),
      isGoingToBeginning: isGoing,
      stopGoing: () => setGoing(false),
    }),
    [state, load, isGoing],
  );
}
