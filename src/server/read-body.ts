import { BridgeError, parseJson } from "../protocol/index.ts";

/** The JSON body of a request, or a sentence about what is wrong with it. Reads no more than it may. */
export async function readBody(request: Request, maxBytes: number): Promise<unknown> {
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json")
    throw new BridgeError(
      "unsupported_media_type",
      `The body must be application/json, not ${JSON.stringify(type ?? "nothing")}.`,
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
  // Deeper than a call's arguments may be: clients send back messages with arguments in them.
  return parseJson(text, { maxDepth: 64 });
}

/** A body that breaks off is the client's doing, not a failure of the server. */
async function* piecesOf({ body }: Request): AsyncGenerator<Uint8Array> {
  try {
    yield* body ?? [];
  } catch (error) {
    throw new BridgeError("malformed", "The body broke off before its end.", { cause: error });
  }
}

function decode(decoder: TextDecoder, piece?: Uint8Array): string {
  try {
    return decoder.decode(piece, { stream: piece !== undefined });
  } catch (error) {
    throw new BridgeError("malformed", "The body is not UTF-8.", { cause: error });
  }
}
