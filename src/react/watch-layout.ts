import { whileWatched } from "./while-watched.ts";

const sampleMs = 100;

interface Point {
  x: number;
  y: number;
}

/** Looks where the buttons of a card are now. `isByHand`: because a person has moved the pointer. */
type Look = (isByHand?: boolean) => void;

/** Where the pointer was moved to by hand. A change of the layout under it causes events too, at the same place. */
let pointer: Point = { x: -1, y: -1 };

export const pointerNow = (): Point => pointer;

/** Looks regularly, for all cards of the page at once, until the function that it returns is called. */
export const watchLayout = whileWatched<Look>((looks) => {
  const lookAll = (isByHand?: boolean) => looks.forEach((look) => look(isByHand));
  const onMove = ({ clientX: x, clientY: y }: PointerEvent) => {
    if (x === pointer.x && y === pointer.y) return;
    pointer = { x, y };
    lookAll(true);
  };
  // After the page was drawn: a box that keeps itself at its end moves the buttons back before a person sees a change.
  const sampler = setInterval(() => requestAnimationFrame(() => setTimeout(lookAll)), sampleMs);
  document.addEventListener("pointermove", onMove, true);
  return () => {
    clearInterval(sampler);
    document.removeEventListener("pointermove", onMove, true);
  };
});
