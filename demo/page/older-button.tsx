import { useEffect, useLayoutEffect, useRef, type RefObject } from "react";
import { useWords } from "./preferences.ts";
import { shownEvent } from "adk-stream-protocol/react";
import type { OlderMessages } from "./use-older-messages.ts";

export interface OlderButtonProps {
  older: OlderMessages;
  /** The box that scrolls. */
  box: RefObject<HTMLElement | null>;
  /** The id of the first message that is drawn. */
  first: string | undefined;
}

/** How far above the visible part older messages are loaded. */
const marginPx = 1200;

/** Loads older messages when the reader comes near, or presses a button. */
export function OlderButton({ older, box, first }: OlderButtonProps) {
  const { t } = useWords();
  const button = useRef<HTMLButtonElement>(null);
  const { state, load, isGoingToBeginning } = older;
  const canLoad = state === "more" && !isGoingToBeginning;
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
  useGoToBeginning(older, box, first);

  if (state === "none") return null;
  const words = { more: t.chats.older, loading: t.chats.olderLoading, failed: t.chats.olderFailed };
  return (
    <div className="older">
      <button
        ref={button}
        type="button"
        className="button button-small button-quiet older-button"
        aria-disabled={state === "loading"}
        onClick={load}
      >
        {words[state]}
      </button>
      <button
        type="button"
        className="button button-small button-quiet"
        aria-disabled={isGoingToBeginning}
        onClick={() => {
          leaveEnd(box);
          older.goToBeginning();
        }}
      >
        {t.chats.toBeginning}
      </button>
    </div>
  );
}

/** The key Home loads everything and shows the first message. Whatever the reader does meanwhile stops it. */
function useGoToBeginning(older: OlderMessages, box: RefObject<HTMLElement | null>, first: string | undefined): void {
  const { isGoingToBeginning, goToBeginning, stopGoing } = older;
  const hasOlder = older.state !== "none";
  useEffect(() => {
    const element = box.current;
    if (!element || !hasOlder) return undefined;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== "Home" || event.altKey || event.shiftKey || isTyping(event.target)) return;
      event.preventDefault();
      leaveEnd(box);
      goToBeginning();
    };
    element.addEventListener("keydown", onKeyDown);
    return () => element.removeEventListener("keydown", onKeyDown);
  }, [box, hasOlder, goToBeginning]);
  useEffect(() => {
    if (!isGoingToBeginning) return undefined;
    const onKeyDown = ({ key }: KeyboardEvent) => {
      if (key !== "Home") stopGoing();
    };
    window.addEventListener("keydown", onKeyDown);
    window.addEventListener("wheel", stopGoing, { passive: true });
    window.addEventListener("touchmove", stopGoing, { passive: true });
    window.addEventListener("pointerdown", stopGoing);
    return () => {
      window.removeEventListener("keydown", onKeyDown);
      window.removeEventListener("wheel", stopGoing);
      window.removeEventListener("touchmove", stopGoing);
      window.removeEventListener("pointerdown", stopGoing);
    };
  }, [isGoingToBeginning, stopGoing]);
  // Also after the last page, when nothing is loaded any more.
  const wasGoing = useRef(false);
  useLayoutEffect(() => {
    if (box.current && (isGoingToBeginning || (wasGoing.current && !hasOlder))) box.current.scrollTop = 0;
    wasGoing.current = isGoingToBeginning;
  }, [box, first, isGoingToBeginning, hasOlder]);
}

/** The box no longer scrolls to its end by itself. */
function leaveEnd(box: RefObject<HTMLElement | null>): void {
  box.current?.dispatchEvent(new CustomEvent(shownEvent));
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable]") !== null;
}
