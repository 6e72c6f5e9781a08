/** Boxes whose own scroll anchoring is off for a moment, with the frame after which it is on again. */
const held = new WeakMap<HTMLElement, number>();

/**
 * Scrolls a box because content above has changed its height. Browsers do the same by themselves (scroll anchoring), and now
 * and then both would: the browser does not know that the change was made up for. So it is told to wait for two frames.
 */
export function moveScroll(box: HTMLElement, px: number): void {
  box.style.overflowAnchor = "none";
  box.scrollTop += px;
  const last = held.get(box);
  if (last !== undefined) cancelAnimationFrame(last);
  const inTwoFrames = () => held.set(box, requestAnimationFrame(restore));
  const restore = () => {
    held.delete(box);
    box.style.overflowAnchor = "";
  };
  held.set(box, requestAnimationFrame(inTwoFrames));
}
