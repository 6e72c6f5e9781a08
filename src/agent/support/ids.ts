/** Random bytes drawn in advance: asking the system for each id costs more than everything else an id needs. */
const drawn = Buffer.alloc(4096);
let used = drawn.length;

/** 128 random bits, after a word that says what they identify. */
export function newId(kind: "apr" | "chat" | "msg" | "turn" | "post" | "request"): string {
  if (used === drawn.length) {
    crypto.getRandomValues(drawn);
    used = 0;
  }
  used += 16;
  return `${kind}_${drawn.toString("hex", used - 16, used)}`;
}
