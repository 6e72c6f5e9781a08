import { type MouseEvent, type RefObject, useCallback, useEffect, useRef, useState } from "react";

/**
 * A card can appear in the place where a person is about to click or press a key for something else. It accepts no answer
 * until the person has had time to see it.
 */
const tooSoonMs = 500;
/** The same if a card moves to the place of the pointer, because something above it has changed. */
const movedMs = 400;
const sampleMs = 100;
const tolerancePx = 4;

/** Tells clicks that were meant for a button from those meant for something that was in its place before. */
export function useMeantClicks(box: RefObject<HTMLElement | null>) {
  const [isTooSoon, setTooSoon] = useState(true);
  /** No click counts before these times: since the buttons have appeared, and since they have moved. */
  const until = useRef({ appeared: Infinity, moved: 0 });
  const place = useRef({ left: 0, top: 0 });
  /** Where the pointer was moved to by hand. A change of the layout under it causes events too, at the same place. */
  const pointer = useRef({ x: -1, y: -1 });

  /** Notices where the buttons are now, and returns whether it is too soon for a click. */
  const notice = useCallback(() => {
    const now = performance.now();
    const edge = box.current?.getBoundingClientRect();
    if (edge) {
      const { left, top } = place.current;
      const { x, y } = pointer.current;
      const hasMoved = Math.max(Math.abs(edge.left - left), Math.abs(edge.top - top)) > tolerancePx;
      const isUnderPointer = x >= edge.left && x <= edge.right && y >= edge.top && y <= edge.bottom;
      if (hasMoved && isUnderPointer) until.current.moved = now + movedMs;
      place.current = edge;
    }
    const isSooner = now < Math.max(until.current.appeared, until.current.moved);
    setTooSoon(isSooner);
    return isSooner;
  }, [box]);
  useEffect(() => {
    until.current.appeared = performance.now() + tooSoonMs;
    const onMove = ({ clientX: x, clientY: y }: PointerEvent) => {
      if (x === pointer.current.x && y === pointer.current.y) return;
      notice();
      // The person moves the pointer, and sees where the buttons are now.
      pointer.current = { x, y };
      until.current.moved = 0;
    };
    // After the page was drawn: a box that keeps itself at its end moves the buttons back before a person sees a change.
    const sampler = setInterval(() => requestAnimationFrame(() => setTimeout(notice)), sampleMs);
    document.addEventListener("pointermove", onMove, true);
    return () => {
      clearInterval(sampler);
      document.removeEventListener("pointermove", onMove, true);
    };
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
