import { type MouseEvent, type RefObject, useCallback, useEffect, useRef, useState } from "react";
import { pointerNow, watchLayout } from "./watch-layout.ts";

/**
 * A card can appear in the place where a person is about to click or press a key for something else. It accepts no answer
 * until the person has had time to see it.
 */
const tooSoonMs = 500;
/** The same if a card moves to the place of the pointer, because something above it has changed. */
const movedMs = 400;
const tolerancePx = 4;

/** Tells clicks that were meant for a button from those meant for something that was in its place before. */
export function useMeantClicks(box: RefObject<HTMLElement | null>) {
  const [isTooSoon, setTooSoon] = useState(true);
  /** No click counts before these times: since the buttons have appeared, and since they have moved. */
  const until = useRef({ appeared: Infinity, moved: 0 });
  const place = useRef({ left: 0, top: 0 });

  /** Notices where the buttons are now, and returns whether it is too soon for a click. */
  const notice = useCallback(
    (isByHand = false) => {
      const now = performance.now();
      const edge = box.current?.getBoundingClientRect();
      if (edge) {
        const { x, y } = pointerNow();
        const { left, top } = place.current;
        const hasMoved = Math.max(Math.abs(edge.left - left), Math.abs(edge.top - top)) > tolerancePx;
        const isUnderPointer = x >= edge.left && x <= edge.right && y >= edge.top && y <= edge.bottom;
        // A person who moves the pointer sees where the buttons are.
        if (isByHand) until.current.moved = 0;
        else if (hasMoved && isUnderPointer) until.current.moved = now + movedMs;
        place.current = edge;
      }
      const isSooner = now < Math.max(until.current.appeared, until.current.moved);
      setTooSoon(isSooner);
      return isSooner;
    },
    [box],
  );
  useEffect(() => {
    until.current.appeared = performance.now() + tooSoonMs;
    return watchLayout(notice);
  }, [notice]);

  /** Does something, unless the click was not meant. The second click of a double click was meant for what was here before. */
  const ifMeant = (act: () => void) => (event: MouseEvent) => {
    const isByPointer = event.detail > 0;
    const isSooner = isByPointer ? notice() : performance.now() < until.current.appeared;
    if (isSooner || event.detail > 1) event.preventDefault();
    else act();
  };
  return { isTooSoon, ifMeant };
}
