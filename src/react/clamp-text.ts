const charactersShown = 400;
const linesShown = 10;
/** A text that is only a little longer is shown whole: the button would need as much room as the rest. */
const tolerance = 1.3;

/** The beginning of a text that is too long to be shown at once. Undefined if the whole text can be shown. */
export function clampText(text: string): string | undefined {
  const isLong = text.length > charactersShown * tolerance;
  const isHigh = positionOfLine(text, linesShown * tolerance) !== undefined;
  if (!isLong && !isHigh) return undefined;
  const end = Math.min(charactersShown, positionOfLine(text, linesShown) ?? Infinity);
  // Both halves of a surrogate pair stay together.
  const isInsidePair = /[\ud800-\udbff]/.test(text.charAt(end - 1)) && /[\udc00-\udfff]/.test(text.charAt(end));
  return text.slice(0, isInsidePair ? end - 1 : end);
}

/** Where the line with this number ends, if the text has more lines. */
function positionOfLine(text: string, count: number): number | undefined {
  let position = -1;
  for (let line = 0; line < count; line += 1) {
    position = text.indexOf("\n", position + 1);
    if (position < 0) return undefined;
  }
  return position;
}
