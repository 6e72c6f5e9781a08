import { setImmediate as pause } from "node:timers/promises";
import { BridgeError } from "../../protocol/index.ts";
import { parseJsonBytes } from "../../protocol/parse-json.ts";
import { requestLimits } from "../request-limits.ts";
import { quote } from "../../protocol/quote.ts";

/** How many bytes of a chat request may be new, unless the options say otherwise. */
export const defaultMaxBodyBytes = 4 * 1024 * 1024;

/** The JSON body of a request. Throws a `BridgeError` that says what is wrong with it; reads at most `maxBytes`. */
export async function readBody(request: Request, maxBytes: number): Promise<unknown> {
  return parseJsonBytes(await readBytes(request, maxBytes), requestLimits);
}

/** The bytes of a JSON body, at most `maxBytes`, without a byte order mark. */
export async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json")
    throw new BridgeError(
      "unsupported_media_type",
      `The content type must be application/json; ${type ? `${quote(type)} came` : "the request has none"}.`,
    );
  const tooLarge = () => new BridgeError("too_large", `The body is larger than ${maxBytes} bytes.`);
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge();
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of piecesOf(request)) {
    bytes += piece.byteLength;
    if (bytes > maxBytes) throw tooLarge();
    pieces.push(piece);
  }
  const [first = new Uint8Array()] = pieces;
  const whole = pieces.length > 1 ? await join(pieces, bytes) : first;
  return whole[0] === 0xef && whole[1] === 0xbb && whole[2] === 0xbf ? whole.subarray(3) : whole;
}

/** How many bytes are copied before other work may run. */
const copiedAtOnce = 4 * 1024 * 1024;

async function join(pieces: readonly Uint8Array[], bytes: number): Promise<Uint8Array> {
  const whole = Buffer.allocUnsafe(bytes);
  let at = 0;
  let copied = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
    copied += piece.length;
    if (copied < copiedAtOnce) continue;
    copied = 0;
    await pause();
  }
  return whole;
}

/** A body that ends early is an error of the client, not of the server. */
async function* piecesOf({ body }: Request): AsyncGenerator<Uint8Array> {
  try {
    yield* body ?? [];
  } catch (error) {
    throw new BridgeError("malformed", "The body ended before it was complete.", { cause: error });
  }
}
