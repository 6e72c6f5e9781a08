import { isToolUIPart } from "ai";
import { memo, useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";
import type { MessageBlock } from "./message-blocks.ts";
import { MessageView } from "./message-view.tsx";
import { moveScroll } from "./move-scroll.ts";
import type { ShownChat } from "./shown-chat.ts";

export interface MessageBlockProps {
  block: MessageBlock;
  chat: ShownChat;
  /** The box that scrolls. */
  box: RefObject<HTMLElement | null>;
  /** The newest messages are always drawn. */
  isLast: boolean;
  /** True while messages are loaded that the reader does not look at. What is not drawn then stays so. */
  isPaused: boolean;
}

/** How far from what the reader sees messages are in the document: a hundred or more in each direction. */
const nearPx = 15_000;
/** The height of a message that was never drawn. */
const guessedPx = 130;

/**
 * Some messages of a long chat. A block far from what the reader sees is an empty box of the same height; one that is nearer
 * but not in sight is in the document, but the browser does not lay it out and React does not draw it again.
 */
export function MessageBlockView({ block, chat, box, isLast, isPaused }: MessageBlockProps) {
  const element = useRef<HTMLDivElement>(null);
  const height = useRef(block.messages.length * guessedPx);
  const [isNear, setNear] = useState(isLast || !isPaused);
  const [isInSight, setInSight] = useState(true);
  // A card that waits is always there and up to date: its buttons can be reached from elsewhere.
  const isOpen = hasOpenCard(block, chat);
  const isDrawn = isNear || isLast || isOpen;
  const wasDrawn = useRef(isDrawn);
  useLayoutEffect(() => {
    const { current: own } = element;
    const { current: scrolling } = box;
    if (!own || !isDrawn || isLast) return;
    own.style.contentVisibility = "";
    const before = height.current;
    height.current = own.getBoundingClientRect().height;
    // With the exact height nothing moves when the browser skips the block, or lays it out again.
    own.style.containIntrinsicBlockSize = `auto ${height.current - paddingOf(own)}px`;
    own.style.contentVisibility = "auto";
    const isAbove = scrolling && own.getBoundingClientRect().top < scrolling.getBoundingClientRect().top;
    if (isAbove && !wasDrawn.current) moveScroll(scrolling, height.current - before);
  }, [box, isDrawn, isLast]);
  useLayoutEffect(() => {
    wasDrawn.current = isDrawn;
    if (isLast && element.current) element.current.style.contentVisibility = "";
  }, [isDrawn, isLast]);

  useEffect(() => {
    const { current: own } = element;
    if (!own || isLast || isPaused) return undefined;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (!entry || (!entry.isIntersecting && isInUse(own))) return;
        if (!entry.isIntersecting) height.current = entry.boundingClientRect.height;
        setNear(entry.isIntersecting);
      },
      { root: box.current, rootMargin: `${nearPx}px 0px` },
    );
    observer.observe(own);
    const onSight = (event: Event) =>
      event.target === own && setInSight(!(event as ContentVisibilityAutoStateChangeEvent).skipped);
    own.addEventListener("contentvisibilityautostatechange", onSight);
    return () => {
      observer.disconnect();
      own.removeEventListener("contentvisibilityautostatechange", onSight);
    };
  }, [box, isLast, isPaused]);

  const drawn = useRef({ block, chat });
  if (isInSight || isLast || isOpen || drawn.current.block !== block) drawn.current = { block, chat };
  return (
    <div ref={element} className="message-block" style={isDrawn ? undefined : { height: height.current }}>
      {isDrawn && <Contents {...drawn.current} />}
    </div>
  );
}

const Contents = memo(function Contents({ block, chat }: Pick<MessageBlockProps, "block" | "chat">) {
  return block.messages.map((message) => <MessageView key={message.id} message={message} chat={chat} />);
});

/** The height that is not the content's. */
function paddingOf(element: Element): number {
  const { paddingTop, paddingBottom } = getComputedStyle(element);
  return Number.parseFloat(paddingTop) + Number.parseFloat(paddingBottom);
}

/** True while the reader writes in a block: what is written must not disappear. */
function isInUse(element: Element): boolean {
  return element.contains(document.activeElement) || element.querySelector("form, textarea") !== null;
}

/** The approvals that a block shows. */
const askedIn = new WeakMap<MessageBlock, readonly string[]>();

/** The states of cards that nothing changes any more. */
const settled: ReadonlySet<string | undefined> = new Set(["done", "failed", "denied", "expired", "cancelled"]);

function hasOpenCard(block: MessageBlock, { approvals }: ShownChat): boolean {
  const ids =
    askedIn.get(block) ??
    block.messages.flatMap(({ parts }) => parts.flatMap((part) => (isToolUIPart(part) && part.approval?.id) || []));
  askedIn.set(block, ids);
  return ids.some((id) => !settled.has(approvals.get(id)?.state));
}
