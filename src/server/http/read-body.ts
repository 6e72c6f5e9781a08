import { BridgeError, parseJson } from "../../protocol/index.ts";
import { quote } from "../../protocol/quote.ts";
import { placeOf } from "./request-place.ts";

/** Largest body of a chat request, unless the options say otherwise. */
export const defaultMaxBodyBytes = 4 * 1024 * 1024;

/** How long a body may take to arrive if its server does not count requests. */
const defaultBodyMs = 60_000;

/**
 * The JSON body of a request. Throws a `BridgeError` that says what is wrong with it; reads at most `maxBytes`. A body is
 * counted among the bytes in memory before it is read, by its length if the request names one, otherwise as it arrives.
 */
export async function readBody(request: Request, maxBytes: number): Promise<unknown> {
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json")
    throw new BridgeError(
      "unsupported_media_type",
      `The content type must be application/json; ${type ? `${quote(type)} came` : "the request has none"}.`,
    );
  const place = placeOf(request);
  const tooLarge = () => new BridgeError("too_large", `The body is larger than ${maxBytes} bytes.`);
  const named = Number(request.headers.get("content-length") ?? 0);
  if (named > maxBytes) throw tooLarge();
  let counted = named > 0 ? named : 0;
  place?.reserve(counted);
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let bytes = 0;
  await readPieces(request, place?.bodyMs ?? defaultBodyMs, (piece) => {
    bytes += piece.byteLength;
    if (bytes > maxBytes) throw tooLarge();
    if (bytes > counted) {
      place?.reserve(bytes - counted);
      counted = bytes;
    }
    text += decode(decoder, piece);
  });
  text += decode(decoder);
  // Deeper than the limit for a call's arguments, because clients send back messages that contain arguments.
  return parseJson(text, { maxDepth: 64 });
}

/** A body that ends early or comes too slowly is an error of the client, not of the server. */
async function readPieces({ body }: Request, ms: number, take: (piece: Uint8Array) => void): Promise<void> {
  if (!body) return;
  const reader = body.getReader();
  // The reason says what becomes of the rest. Cancelling also ends a pending read.
  const cancel = (reason: unknown) => void reader.cancel(reason).catch(() => undefined);
  let late: LateBody | undefined;
  const timer = setTimeout(() => cancel((late = new LateBody(ms))), ms);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (late) throw late;
      if (done) return;
      take(value);
    }
  } catch (error) {
    cancel(error);
    if (error instanceof BridgeError) throw error;
    throw new BridgeError("malformed", "The body ended before it was complete.", { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** The body did not arrive in time. */
export class LateBody extends BridgeError {
  /** HTTP has a status of its own for this. */
  readonly status = 408;
  constructor(ms: number) {
    super("malformed", `The body did not arrive within ${ms / 1000} seconds.`);
  }
}

function decode(decoder: TextDecoder, piece?: Uint8Array): string {
  try {
    return decoder.decode(piece, { stream: piece !== undefined });
  } catch (error) {
    throw new BridgeError("malformed", "The body is not UTF-8.", { cause: error });
  }
}
