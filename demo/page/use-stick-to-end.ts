import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";
import { shownEvent } from "adk-stream-protocol/react";

export interface StickToEnd<T extends HTMLElement> {
  box: RefObject<T | null>;
  atEnd: boolean;
  onScroll: () => void;
  goToEnd: () => void;
}

/** An element whose top stays in sight, although there is more after it. */
export interface Anchor<T extends HTMLElement> {
  find: (box: T) => Element | null;
  /** The reader has scrolled past it to the end of the box. */
  onPassed: () => void;
}

/**
 * Keeps a scrolling box at its end while it grows or shrinks, until the reader scrolls up. `content` is a value that
 * changes when there is something new to see. While there is an anchor, the box does not scroll past its top.
 */
export function useStickToEnd<T extends HTMLElement>(
  content: unknown,
  nearPx: number,
  anchor?: Anchor<T>,
): StickToEnd<T> {
  const box = useRef<T>(null);
  const sticking = useRef(true);
  const top = useRef(0);
  const isAnchored = useRef(false);
  const [atEnd, setAtEnd] = useState(true);

  const settle = useCallback(() => {
    const element = box.current;
    if (!element) return;
    if (sticking.current) {
      const inner = anchor?.find(element) ?? null;
      isAnchored.current = inner !== null;
      element.scrollTop = inner ? topOf(inner, element) : element.scrollHeight;
      top.current = element.scrollTop;
    }
    setAtEnd(isNearEnd(element, nearPx));
  }, [anchor, nearPx]);
  const goToEnd = useCallback(() => {
    sticking.current = true;
    settle();
  }, [settle]);
  const onScroll = useCallback(() => {
    const element = box.current;
    if (!element) return;
    const isNear = isNearEnd(element, nearPx);
    const moved = element.scrollTop - top.current;
    // A box that became smaller is not at its end either. But only the reader scrolls up, or away from an anchor.
    if (isAnchored.current ? Math.abs(moved) > 1 : moved < 0 || (moved > 0 && isNear)) {
      // A reader who comes back to the end has passed the anchor too. Otherwise the box would return to it from there.
      if (isNear && (isAnchored.current || !sticking.current)) anchor?.onPassed();
      sticking.current = isNear;
      isAnchored.current = false;
    }
    top.current = element.scrollTop;
    setAtEnd(isNear);
  }, [anchor, nearPx]);

  useLayoutEffect(settle, [content, settle]);
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(settle);
    observer.observe(element);
    const leaveEnd = () => {
      sticking.current = false;
      isAnchored.current = false;
      // What is shown may be near the end. The scroll event that follows is not the reader's.
      top.current = element.scrollTop;
    };
    element.addEventListener(shownEvent, leaveEnd);
    return () => {
      observer.disconnect();
      element.removeEventListener(shownEvent, leaveEnd);
    };
  }, [settle]);

  return { box, atEnd, onScroll, goToEnd };
}

function isNearEnd(element: HTMLElement, nearPx: number): boolean {
  return element.scrollHeight - element.scrollTop - element.clientHeight < nearPx;
}

const marginPx = 12;

/** How far a box has to be scrolled to show the top of an element inside it. */
function topOf(inner: Element, box: HTMLElement): number {
  return inner.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop - marginPx;
}
