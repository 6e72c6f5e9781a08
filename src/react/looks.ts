import { watched } from "../client/watched.ts";

/** Dispatched by what a card has scrolled to, so that a box that keeps itself at its end can stay there. */
export const shownEvent = "shown";

/**
 * What of a call has been on the screen. Marks stand at the beginning and the end of each value; a call may be approved
 * when each mark has been seen. A value that is cut is a mark that cannot be seen until a person opens it.
 */
export interface Looks {
  /**
   * Adds a mark, or the button that opens a value that is cut. Returns a function that removes it, because its value has
   * changed, was opened or is gone.
   */
  add(mark: HTMLElement): () => void;
  /** Whether a value is or was cut and its end has not been seen. */
  isCut(): boolean;
  /** Whether everything has been on the screen, at the latest now. */
  isAllSeen(): boolean;
  /** Brings the first value that has not been seen to the screen, and opens it if it is cut. */
  showNext(): void;
  subscribe: (this: void, listener: () => void) => () => void;
}

export function createLooks(): Looks {
  const unseen = new Set<HTMLElement>();
  const { subscribe, set: notify } = watched<void>(undefined);
  let hasBeenCut = false;
  // Made with the first mark: there is none on a server.
  let observer: IntersectionObserver | undefined;
  const see = (marks: readonly Element[]) => {
    for (const mark of marks) {
      observer?.unobserve(mark);
      unseen.delete(mark as HTMLElement);
    }
    if (marks.length > 0) notify();
  };

  return {
    add(mark) {
      unseen.add(mark);
      if (isOpener(mark)) hasBeenCut = true;
      else {
        observer ??= new IntersectionObserver((entries) =>
          see(entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target)),
        );
        observer.observe(mark);
      }
      notify();
      return () => see([mark]);
    },
    isCut: () => hasBeenCut && unseen.size > 0,
    isAllSeen() {
      // The observer reports a frame later. A click can come before that.
      see([...unseen].filter((mark) => !isOpener(mark) && isOnScreen(mark)));
      return unseen.size === 0;
    },
    showNext() {
      const next = [...unseen].toSorted(inDocumentOrder)[0];
      if (!next) return;
      if (isOpener(next)) return next.click();
      scrollTo(next);
      next.dispatchEvent(new CustomEvent(shownEvent, { bubbles: true }));
    },
    subscribe,
  };
}

/** Whether what it stands for is seen only after a click on it. */
function isOpener(mark: HTMLElement): boolean {
  return mark.matches("button");
}

/** A long value moves on by one page of its box, so that no line is left out. */
function scrollTo(mark: HTMLElement): void {
  const box = mark.closest<HTMLElement>("[data-part=long]");
  if (!box || box.scrollHeight <= box.clientHeight) return mark.scrollIntoView({ block: "center" });
  box.scrollIntoView({ block: "nearest" });
  box.scrollBy({ top: box.clientHeight * 0.9 });
}

function inDocumentOrder(a: Node, b: Node): number {
  return a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
}

/** Whether an element is inside the window and inside every scrolling box around it. */
function isOnScreen(element: HTMLElement): boolean {
  if (element.getClientRects().length === 0 || document.hidden) return false;
  const { top, left } = element.getBoundingClientRect();
  if (top < 0 || left < 0 || top > window.innerHeight || left > window.innerWidth) return false;
  for (let box = element.parentElement; box && box !== document.body; box = box.parentElement) {
    if (getComputedStyle(box).overflowY === "visible") continue;
    const edge = box.getBoundingClientRect();
    if (top < edge.top || top > edge.bottom || left < edge.left - 1 || left > edge.right) return false;
  }
  return true;
}
