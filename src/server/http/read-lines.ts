import { BridgeError } from "../../protocol/index.ts";
import { readText } from "./read-body.ts";

/** The longest line. A message with pictures is one line. */
const maxLineLength = 16 * 1024 * 1024;

/** The lines of a body, as they come. Throws a `BridgeError` that says what is wrong with it; reads at most `maxBytes`. */
export async function* readLines(
  request: Request,
  { type, maxBytes }: { type: string; maxBytes: number },
): AsyncGenerator<string> {
  // A long line comes in many pieces, which are joined once.
  let pieces: string[] = [];
  let length = 0;
  for await (const text of readText(request, { type, maxBytes })) {
    const [first = "", ...lines] = text.split("\n");
    pieces.push(first);
    length += first.length;
    if (length > maxLineLength) throw new BridgeError("too_large", `A line has more than ${maxLineLength} characters.`);
    const rest = lines.pop();
    if (rest === undefined) continue;
    yield pieces.join("");
    yield* lines;
    pieces = [rest];
    length = rest.length;
  }
  if (length > 0) yield pieces.join("");
}
