import { useCallback, useMemo, useRef } from "react";
import type { Anchor } from "./use-stick-to-end.ts";

/**
 * Keeps the conversation at the first card that waits, so that a person sees a call from its top and not its buttons
 * only. Cards that the person has passed, by writing on or by scrolling to the end, are not returned to.
 */
export function useWaitingAnchor<T extends HTMLElement>(
  pending: readonly string[],
): { anchor: Anchor<T>; pass: () => void } {
  const waiting = useRef(pending);
  waiting.current = pending;
  const passed = useRef(new Set<string>());
  const first = useRef<string>(undefined);
  const pass = useCallback(() => {
    for (const id of waiting.current) passed.current.add(id);
    first.current = undefined;
  }, []);
  const find = useCallback((box: T) => {
    const open = waiting.current.filter((id) => !passed.current.has(id));
    // After an answer the page stays where it is until the other cards are answered too.
    first.current = open.length === 0 ? undefined : (first.current ?? open[0]);
    // An empty conversation begins at its top.
    if (first.current === undefined) return box.querySelector(".welcome");
    return box.querySelector(`[data-approval-id="${CSS.escape(first.current)}"]`);
  }, []);
  return { anchor: useMemo(() => ({ find, onPassed: pass }), [find, pass]), pass };
}
