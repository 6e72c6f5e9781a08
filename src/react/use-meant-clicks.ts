import { type MouseEvent, type RefObject, useEffect, useRef, useState } from "react";
import { useBeforePaint } from "./use-before-paint.ts";

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
  const waitUntil = useRef(Infinity);
  const place = useRef({ left: 0, top: 0 });
  /** Where the pointer was moved to by hand. A change of the layout under it causes events too, at the same place. */
  const pointer = useRef({ x: -1, y: -1 });

  const wait = (ms: number) => {
    waitUntil.current = performance.now() + ms;
    setTooSoon(true);
  };
  const notice = () => {
    const now = performance.now();
    if (now >= waitUntil.current) setTooSoon(false);
    const edge = box.current?.getBoundingClientRect();
    if (!edge) return;
    const { left, top } = place.current;
    const { x, y } = pointer.current;
    const hasMoved = Math.max(Math.abs(edge.left - left), Math.abs(edge.top - top)) > tolerancePx;
    const isUnderPointer = x >= edge.left && x <= edge.right && y >= edge.top && y <= edge.bottom;
    place.current = edge;
    if (hasMoved && isUnderPointer) wait(Math.max(movedMs, Math.min(waitUntil.current - now, tooSoonMs)));
  };
  const current = useRef(notice);
  current.current = notice;
  // Before the page is drawn: what this card itself has changed may have moved the buttons.
  useBeforePaint(notice);
  useEffect(() => {
    wait(tooSoonMs);
    const onMove = ({ clientX: x, clientY: y }: PointerEvent) => {
      if (x === pointer.current.x && y === pointer.current.y) return;
      current.current();
      pointer.current = { x, y };
    };
    const sampler = setInterval(() => current.current(), sampleMs);
    document.addEventListener("pointermove", onMove, true);
    return () => {
      clearInterval(sampler);
      document.removeEventListener("pointermove", onMove, true);
    };
  }, []);

  /** Does something, unless the click was not meant. The second click of a double click was meant for what was here before. */
  const ifMeant = (act: () => void) => (event: MouseEvent) => {
    const isByPointer = event.detail > 0;
    if (isByPointer) notice();
    const isBlocked = isTooSoon || (isByPointer && performance.now() < waitUntil.current);
    if (isBlocked || event.detail > 1) event.preventDefault();
    else act();
  };
  return { isTooSoon, ifMeant };
}
