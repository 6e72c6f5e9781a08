import { useEffect, useLayoutEffect, useRef, type RefObject } from "react";
import { useWords } from "./preferences.ts";
import type { OlderMessages } from "./use-older-messages.ts";

export interface OlderButtonProps {
  older: OlderMessages;
  /** The box that scrolls. */
  box: RefObject<HTMLElement | null>;
  /** The id of the first message that is drawn. */
  first: string | undefined;
}

/** How far above the visible part older messages are loaded. */
const marginPx = 600;

/** Loads older messages when the reader comes near, or presses it. What the reader sees stays where it is. */
export function OlderButton({ older, box, first }: OlderButtonProps) {
  const { t } = useWords();
  const button = useRef<HTMLButtonElement>(null);
  const { state, load } = older;
  const canLoad = state === "more";
  useEffect(() => {
    const element = button.current;
    if (!element || !canLoad) return undefined;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && load(), {
      root: box.current,
      rootMargin: `${marginPx}px 0px 0px`,
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [box, load, canLoad, first]);

  // The distance to the end is the same before and after older messages are drawn above.
  const fromEnd = useRef<number>(undefined);
  const drawn = useRef(first);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    if (drawn.current !== first && fromEnd.current !== undefined)
      element.scrollTop = element.scrollHeight - fromEnd.current;
    drawn.current = first;
    const note = () => {
      fromEnd.current = element.scrollHeight - element.scrollTop;
    };
    note();
    element.addEventListener("scroll", note, { passive: true });
    return () => element.removeEventListener("scroll", note);
  }, [box, first]);

  if (state === "none") return null;
  const words = { more: t.chats.older, loading: t.chats.olderLoading, failed: t.chats.olderFailed };
  return (
    <button
      ref={button}
      type="button"
      className="button button-small button-quiet older-button"
      aria-disabled={state === "loading"}
      onClick={load}
    >
      {words[state]}
    </button>
  );
}
