const charactersShown = 400;
const linesShown = 10;
/** A text that is only a little longer is shown whole: the button would need as much room as the rest. */
const tolerance = 1.3;

/** The beginning of a text that is too long to be shown at once. Undefined if the whole text can be shown. */
export function clampText(text: string): string | undefined {
  const lines = text.split("\n", linesShown * tolerance + 1);
  if (text.length <= charactersShown * tolerance && lines.length <= linesShown * tolerance) return undefined;
  const beginning = lines.slice(0, linesShown).join("\n").slice(0, charactersShown);
  // Half a character at its end would be shown as something that is not in the text.
  return beginning.replace(/[\ud800-\udbff]$/, "");
}
