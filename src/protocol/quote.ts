const longest = 64;

/** A value from a client as JSON for an error sentence, cut so that the sentence stays short. */
export function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? "undefined";
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text;
}
