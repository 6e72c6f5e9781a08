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

  // The message that was the first one stays where it is when others are drawn above it. The distance to the end is no
  // measure, because messages that are far away have no exact height. The place is measured here, just before the others
  // are in the document: the reader may scroll until then, and a scroll event comes a frame later.
  const drawn = useRef(first);
  const before = drawn.current === first ? undefined : placeOf(box.current, button.current?.nextElementSibling);
  useLayoutEffect(() => {
    drawn.current = first;
    if (before?.message.isConnected) before.box.scrollTop += topIn(before.box, before.message) - before.top;
  });

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

function placeOf(box: Element | null, message: Element | null | undefined) {
  return box && message ? { box, message, top: topIn(box, message) } : undefined;
}

function topIn(box: Element, message: Element): number {
  return message.getBoundingClientRect().top - box.getBoundingClientRect().top;
}
