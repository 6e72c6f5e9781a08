/** 128 random bits with a word in front that says what they name. */
export function newId(kind: "apr" | "msg" | "turn"): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `${kind}_${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
