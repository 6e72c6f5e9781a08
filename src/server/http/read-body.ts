import { setImmediate as pause } from "node:timers/promises";
import { BridgeError } from "../../protocol/index.ts";
import { parseJsonBytes } from "../../protocol/parse-json.ts";
import { requestLimits } from "../request-limits.ts";
import { quote } from "../../protocol/quote.ts";
import { placeOf } from "./request-place.ts";

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
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of readPieces(request, { type: "application/json", maxBytes })) {
    pieces.push(piece);
    bytes += piece.byteLength;
  }
  const [first = new Uint8Array()] = pieces;
  const whole = pieces.length > 1 ? await join(pieces, bytes) : first;
  return whole[0] === 0xef && whole[1] === 0xbb && whole[2] === 0xbf ? whole.subarray(3) : whole;
}

/** The text of a body of this content type, in the pieces in which it comes. */
export async function* readText(request: Request, expected: ExpectedBody): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  for await (const piece of readPieces(request, expected)) yield decode(decoder, piece);
  yield decode(decoder);
}

interface ExpectedBody {
  /** The content type that the body must have. */
  type: string;
  maxBytes: number;
}

/** The pieces of a body, counted among the bytes in memory. */
async function* readPieces(request: Request, { type, maxBytes }: ExpectedBody): AsyncGenerator<Uint8Array> {
  const given = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (given !== type)
    throw new BridgeError(
      "unsupported_media_type",
      `The content type must be ${type}; ${given ? `${quote(given)} came` : "the request has none"}.`,
    );
  const place = placeOf(request);
  const tooLarge = () => new BridgeError("too_large", `The body is larger than ${maxBytes} bytes.`);
  const named = Number(request.headers.get("content-length") ?? 0);
  if (named > maxBytes) throw tooLarge();
  let counted = named > 0 ? named : 0;
  place?.reserve(counted);
  let bytes = 0;
  const count = (piece: Uint8Array) => {
    bytes += piece.byteLength;
    if (bytes > maxBytes) throw tooLarge();
    if (bytes <= counted) return;
    place?.reserve(bytes - counted);
    counted = bytes;
  };
  yield* piecesOf(request, place?.bodyMs ?? defaultBodyMs, count);
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
async function* piecesOf(
  { body }: Request,
  ms: number,
  count: (piece: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
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
      count(value);
      yield value;
    }
  } catch (error) {
    cancel(error);
    if (error instanceof BridgeError) throw error;
    throw new BridgeError("malformed", "The body ended before it was complete.", { cause: error });
  } finally {
    clearTimeout(timer);
    cancel(undefined);
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
