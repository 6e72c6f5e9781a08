import { BridgeError, parseJson } from "../../protocol/index.ts";
import { quote } from "../../protocol/quote.ts";

/** Largest body of a chat request, unless the options say otherwise. */
export const defaultMaxBodyBytes = 4 * 1024 * 1024;

/** The JSON body of a request. Throws a `BridgeError` that says what is wrong with it; reads at most `maxBytes`. */
export async function readBody(request: Request, maxBytes: number): Promise<unknown> {
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json")
    throw new BridgeError(
      "unsupported_media_type",
      `The content type must be application/json; ${type ? `${quote(type)} came` : "the request has none"}.`,
    );
  const tooLarge = () => new BridgeError("too_large", `The body is larger than ${maxBytes} bytes.`);
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let bytes = 0;
  for await (const piece of piecesOf(request)) {
    bytes += piece.byteLength;
    if (bytes > maxBytes) throw tooLarge();
    text += decode(decoder, piece);
  }
  text += decode(decoder);
  // Deeper than the limit for a call's arguments, because clients send back messages that contain arguments.
  return parseJson(text, { maxDepth: 64 });
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
