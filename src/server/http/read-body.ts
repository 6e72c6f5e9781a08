import { setImmediate as pause } from "node:timers/promises";
import { BridgeError } from "../../protocol/index.ts";
import { parseJsonBytes } from "../../protocol/parse-json.ts";
import { requestLimits } from "../request-limits.ts";
import { quote } from "../../protocol/quote.ts";
import { placeOf, type RequestPlace } from "./request-place.ts";

/** How many bytes of a chat request may be new, unless the options say otherwise. */
export const defaultMaxBodyBytes = 4 * 1024 * 1024;

/** How long a body may take to arrive if its server does not count requests. */
const defaultBodyMs = 60_000;

/**
 * The JSON body of a request. Throws a `BridgeError` that says what is wrong with it; reads at most `maxBytes`. A body is
 * counted among the bytes in memory before it is read, by its length if the request names one, otherwise as it arrives.
 */
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
  const place = placeOf(request);
  const tooLarge = () => new BridgeError("too_large", `The body is larger than ${maxBytes} bytes.`);
  const named = Number(request.headers.get("content-length") ?? 0);
  if (named > maxBytes) throw tooLarge();
  let counted = named > 0 ? named : 0;
  place?.reserve(counted);
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of piecesOf(request, place)) {
    bytes += piece.byteLength;
    if (bytes > maxBytes) throw tooLarge();
    if (bytes > counted) {
      place?.reserve(bytes - counted);
      counted = bytes;
    }
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

/** A body that ends early or comes too slowly is an error of the client, not of the server. */
async function* piecesOf({ body }: Request, place: RequestPlace | undefined): AsyncGenerator<Uint8Array> {
  if (!body) return;
  const ms = place?.bodyMs ?? defaultBodyMs;
  const reader = body.getReader();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    // Ends a pending read.
    void reader.cancel().catch(() => undefined);
  }, ms);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (isLate) throw new LateBody(ms);
      if (done) return;
      yield value;
    }
  } catch (error) {
    if (error instanceof BridgeError) throw error;
    throw new BridgeError("malformed", "The body ended before it was complete.", { cause: error });
  } finally {
    clearTimeout(timer);
    // Drops the rest, if there is any.
    void reader.cancel().catch(() => undefined);
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
