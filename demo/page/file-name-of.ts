const maxLength = 60;

/** A title as the name of a file: without the characters that file systems or shells give a meaning. */
export function fileNameOf(title: string): string {
  const name = title
    .replaceAll(/[^\p{L}\p{M}\p{N}._ -]+/gu, " ")
    .replaceAll(/\s+/g, " ")
    .replace(/^[. -]+/, "");
  return Array.from(name).slice(0, maxLength).join("").trim() || "chat";
}
