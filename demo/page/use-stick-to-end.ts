import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";

/**
 * Keeps a scrolling box at its end while it grows or shrinks, until the reader scrolls up.
 * `content` is a value that changes when there is something new to see.
 */
export function useStickToEnd<T extends HTMLElement>(
  content: unknown,
  nearPx: number,
): { box: RefObject<T | null>; atEnd: boolean; onScroll: () => void; goToEnd: () => void } {
  const box = useRef<T>(null);
  const sticking = useRef(true);
  const top = useRef(0);
  const [atEnd, setAtEnd] = useState(true);

  const settle = useCallback(() => {
    if (!sticking.current || !box.current) return;
    box.current.scrollTop = box.current.scrollHeight;
    top.current = box.current.scrollTop;
  }, []);
  const goToEnd = useCallback(() => {
    sticking.current = true;
    setAtEnd(true);
    settle();
  }, [settle]);
  const onScroll = useCallback(() => {
    const element = box.current;
    if (!element) return;
    const isNear = element.scrollHeight - element.scrollTop - element.clientHeight < nearPx;
    // A box that became smaller is not at its end either. But only the reader scrolls up.
    if (isNear || element.scrollTop < top.current) sticking.current = isNear;
    top.current = element.scrollTop;
    setAtEnd(sticking.current);
  }, [nearPx]);

  useLayoutEffect(settle, [content, settle]);
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(settle);
    observer.observe(element);
    return () => observer.disconnect();
  }, [settle]);

  return { box, atEnd, onScroll, goToEnd };
}
