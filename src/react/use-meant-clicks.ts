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

/** Where a box is, when it moved there, and when the pointer was last moved by hand. */
interface Place {
  x: number;
  y: number;
  movedAt: number;
  pointerAt: number;
}

/** Tells clicks that were meant for a button from those meant for something that was in its place before. */
export function useMeantClicks(box: RefObject<HTMLElement | null>) {
  const [isTooSoon, setTooSoon] = useState(true);
  const place = useRef<Place>({ x: 0, y: 0, movedAt: 0, pointerAt: 0 });
  useEffect(() => {
    let [x, y] = [-1, -1];
    const onMove = ({ screenX, screenY }: PointerEvent) => {
      // A change of the layout under a resting pointer causes events too, at the same place.
      if (screenX === x && screenY === y) return;
      [x, y] = [screenX, screenY];
      notice(box.current, place.current);
      place.current.pointerAt = performance.now();
    };
    const timer = setTimeout(() => setTooSoon(false), tooSoonMs);
    const sampler = setInterval(() => notice(box.current, place.current), sampleMs);
    document.addEventListener("pointermove", onMove, true);
    return () => {
      clearTimeout(timer);
      clearInterval(sampler);
      document.removeEventListener("pointermove", onMove, true);
    };
  }, [box]);

  /** Does something, unless the click was not meant. The second click of a double click was meant for what was here before. */
  const ifMeant = (act: () => void) => (event: MouseEvent) => {
    notice(box.current, place.current);
    const { movedAt, pointerAt } = place.current;
    const isByPointer = event.detail > 0;
    const hasMoved = isByPointer && pointerAt < movedAt && performance.now() - movedAt < movedMs;
    if (isTooSoon || event.detail > 1 || hasMoved) event.preventDefault();
    else act();
  };
  return { isTooSoon, ifMeant };
}

/** Notices that a box has moved since the last time. */
function notice(box: HTMLElement | null, place: Place): void {
  if (!box) return;
  const { left, top } = box.getBoundingClientRect();
  const distance = Math.max(Math.abs(left - place.x), Math.abs(top - place.y));
  if (distance > tolerancePx) Object.assign(place, { x: left, y: top, movedAt: performance.now() });
}
