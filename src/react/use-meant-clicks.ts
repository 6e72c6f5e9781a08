import { type MouseEvent, type RefObject, useEffect, useRef, useState } from "react";

/**
 * A card can appear in the place where a person is about to click or press a key for something else. It accepts no answer
 * until the person has had time to see it.
 */
const tooSoonMs = 500;
/** The same if a card moves to the place of the pointer, because something above it has changed. */
const movedMs = 400;
const sampleMs = 100;
const tolerancePx = 4;

/** When the pointer was last moved by hand. Layout changes under a resting pointer also cause events, at the same place. */
const pointer = { x: -1, y: -1, at: 0 };

function watchPointer(): void {
  document.addEventListener(
    "pointermove",
    ({ screenX, screenY }) => {
      if (screenX === pointer.x && screenY === pointer.y) return;
      Object.assign(pointer, { x: screenX, y: screenY, at: performance.now() });
    },
    { capture: true, passive: true },
  );
}

let isWatching = false;

/** Tells clicks that were meant for a button from those meant for something that was in its place before. */
export function useMeantClicks(box: RefObject<HTMLElement | null>) {
  const [isTooSoon, setTooSoon] = useState(true);
  const place = useRef({ x: 0, y: 0, movedAt: 0 });
  useEffect(() => {
    if (!isWatching) watchPointer();
    isWatching = true;
    const timer = setTimeout(() => setTooSoon(false), tooSoonMs);
    const sampler = setInterval(() => sample(box.current, place.current), sampleMs);
    return () => {
      clearTimeout(timer);
      clearInterval(sampler);
    };
  }, [box]);

  const hasMovedUnderPointer = () => {
    sample(box.current, place.current);
    const { movedAt } = place.current;
    return performance.now() - movedAt < movedMs && pointer.at < movedAt;
  };
  /** Does something, unless the click was not meant. The second click of a double click was meant for what was here before. */
  const ifMeant = (act: () => void) => (event: MouseEvent) => {
    const isByPointer = event.detail > 0;
    if (isTooSoon || event.detail > 1 || (isByPointer && hasMovedUnderPointer())) event.preventDefault();
    else act();
  };
  return { isTooSoon, ifMeant };
}

function sample(element: HTMLElement | null, place: { x: number; y: number; movedAt: number }): void {
  if (!element) return;
  const { left, top } = element.getBoundingClientRect();
  const distance = Math.max(Math.abs(left - place.x), Math.abs(top - place.y));
  if (distance > tolerancePx) Object.assign(place, { x: left, y: top, movedAt: performance.now() });
}
