export interface Inline {
  kind: "text" | "strong" | "code";
  text: string;
}

/** Finds **bold** and `code`, which models use often. All other Markdown stays as text. */
export function inlineMarks(text: string): Inline[] {
  return text
    .split(/(\*\*[^*\n]+\*\*|`[^`\n]+`)/)
    .filter((piece) => piece !== "")
    .map((piece): Inline => {
      if (piece.length > 4 && piece.startsWith("**") && piece.endsWith("**")) {
        return { kind: "strong", text: piece.slice(2, -2) };
      }
      if (piece.length > 2 && piece.startsWith("`") && piece.endsWith("`")) {
        return { kind: "code", text: piece.slice(1, -1) };
      }
      return { kind: "text", text: piece };
    });
}
