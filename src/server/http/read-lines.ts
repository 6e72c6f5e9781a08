import { BridgeError } from "../../protocol/index.ts";
import { readText } from "./read-body.ts";

/** The longest line. A message with pictures is one line. */
const maxLineLength = 16 * 1024 * 1024;

/** The lines of a body, as they come. Throws a `BridgeError` that says what is wrong with it; reads at most `maxBytes`. */
export async function* readLines(
  request: Request,
  { type, maxBytes }: { type: string; maxBytes: number },
): AsyncGenerator<string> {
  let rest = "";
  for await (const text of readText(request, { type, maxBytes })) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > maxLineLength)
      throw new BridgeError("too_large", `A line has more than ${maxLineLength} characters.`);
    yield* lines;
  }
  if (rest !== "") yield rest;
}
