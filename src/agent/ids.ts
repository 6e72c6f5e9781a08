/** Asking the system for random bytes takes longer than most of what an id is needed for, so they are drawn in advance. */
const drawn = Buffer.alloc(4096);
let used = drawn.length;

/** 128 random bits with a word in front that says what they name. */
export function newId(kind: "apr" | "msg" | "turn"): string {
  if (used === drawn.length) {
    crypto.getRandomValues(drawn);
    used = 0;
  }
  used += 16;
  return `${kind}_${drawn.toString("hex", used - 16, used)}`;
}
