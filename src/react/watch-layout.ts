const sampleMs = 100;

interface Point {
  x: number;
  y: number;
}

/** Looks where the buttons of a card are now. `byHand`: a person has just moved the pointer, and sees where they are. */
type Look = (pointer: Point, byHand: boolean) => void;

const looks = new Set<Look>();
/** Where the pointer was moved to by hand. A change of the layout under it causes events too, at the same place. */
let pointer: Point = { x: -1, y: -1 };
let sampler: ReturnType<typeof setInterval> | undefined;

export const pointerNow = (): Point => pointer;

function lookAll(before = pointer, byHand = false): void {
  for (const look of looks) look(before, byHand);
}

function onMove({ clientX: x, clientY: y }: PointerEvent): void {
  if (x === pointer.x && y === pointer.y) return;
  const before = pointer;
  pointer = { x, y };
  lookAll(before, true);
}

/** Looks regularly, for all cards of the page at once, until the function that it returns is called. */
export function watchLayout(look: Look): () => void {
  looks.add(look);
  // After the page was drawn: a box that keeps itself at its end moves the buttons back before a person sees a change.
  sampler ??= setInterval(() => requestAnimationFrame(() => setTimeout(lookAll)), sampleMs);
  document.addEventListener("pointermove", onMove, true);
  return () => {
    looks.delete(look);
    if (looks.size > 0) return;
    clearInterval(sampler);
    sampler = undefined;
    document.removeEventListener("pointermove", onMove, true);
  };
}
