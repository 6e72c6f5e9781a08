import { BridgeError, parseJson } from "../../protocol/index.ts";
import { quote } from "../../protocol/quote.ts";

/** Largest body of a chat request, unless the options say otherwise. */
export const defaultMaxBodyBytes = 4 * 1024 * 1024;

/** The JSON body of a request. Throws a `BridgeError` that says what is wrong with it; reads at most `maxBytes`. */
export async function readBody(request: Request, maxBytes: number): Promise<unknown> {
  let text = "";
  for await (const piece of readText(request, { type: "application/json", maxBytes })) text += piece;
  // Deeper than the limit for a call's arguments, because clients send back messages that contain arguments.
  return parseJson(text, { maxDepth: 64 });
}

/** The text of a body of this content type, in the pieces in which it comes. */
export async function* readText(
  request: Request,
  { type, maxBytes }: { type: string; maxBytes: number },
): AsyncGenerator<string> {
  const given = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (given !== type)
    throw new BridgeError(
      "unsupported_media_type",
      `The content type must be ${type}; ${given ? `${quote(given)} came` : "the request has none"}.`,
    );
  const tooLarge = () => new BridgeError("too_large", `The body is larger than ${maxBytes} bytes.`);
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let bytes = 0;
  for await (const piece of piecesOf(request)) {
    bytes += piece.byteLength;
    if (bytes > maxBytes) throw tooLarge();
    yield decode(decoder, piece);
  }
  yield decode(decoder);
}

/** A body that ends early is an error of the client, not of the server. */
async function* piecesOf({ body }: Request): AsyncGenerator<Uint8Array> {
  try {
    yield* body ?? [];
  } catch (error) {
    throw new BridgeError("malformed", "The body ended before it was complete.", { cause: error });
  }
}

function decode(decoder: TextDecoder, piece?: Uint8Array): string {
  try {
    return decoder.decode(piece, { stream: piece !== undefined });
  } catch (error) {
    throw new BridgeError("malformed", "The body is not UTF-8.", { cause: error });
  }
}
