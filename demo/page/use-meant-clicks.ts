import { useEffect, useState, type MouseEvent } from "react";
import { isSecondClick } from "./second-click.ts";

/**
 * A card can appear in the place where a person is about to click or press a key for something else. It accepts no answer
 * until the person has had time to see it.
 */
const tooSoonMs = 500;

/** Tells clicks that were meant for a button from those meant for something that was in its place before. */
export function useMeantClicks() {
  const [isTooSoon, setTooSoon] = useState(true);
  useEffect(() => {
    const timer = setTimeout(() => setTooSoon(false), tooSoonMs);
    return () => clearTimeout(timer);
  }, []);
  const ifMeant = (act: () => void) => (event: MouseEvent) => {
    if (isTooSoon || isSecondClick(event)) event.preventDefault();
    else act();
  };
  return { isTooSoon, ifMeant };
}
