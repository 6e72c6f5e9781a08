import type { Share } from "../../protocol/quota.ts";
import type { ServerBounds } from "../server-bounds.ts";

/** A response up to this size is not counted: the connection takes it at once. */
const smallBytes = 64 * 1024;

/** The place of each request that is being handled. */
const places = new WeakMap<Request, RequestPlace>();

/** The place of a request, if its server counts requests. */
export function placeOf(request: Request): RequestPlace | undefined {
  return places.get(request);
}

/**
 * What one HTTP request uses of the server: a place among the requests, and the bytes of its body. The body is counted until
 * the request has been handled, the place until the response has been sent.
 */
export class RequestPlace {
  readonly #bounds: ServerBounds;
  readonly #place: Share;
  #owner: string | undefined;
  #body: Share | undefined;
  #isSending = false;

  /** Throws `unavailable` if the server handles too many requests. */
  constructor(request: Request, bounds: ServerBounds) {
    this.#bounds = bounds;
    this.#place = bounds.requests.take(undefined);
    places.set(request, this);
  }

  get bodyMs(): number {
    return this.#bounds.limits.bodyMs;
  }

  /** The owner is known. Throws `too_many` if the owner has too many requests. */
  assign(owner: string): void {
    this.#owner = owner;
    this.#place.assign(owner);
  }

  /** Counts bytes of the body before they are read. Throws if the owner or the server has too many in memory. */
  reserve(bytes: number): void {
    if (this.#body) this.#body.add(bytes);
    else this.#body = this.#bounds.bytes.take(this.#owner, bytes);
  }

  /** The request has been handled. Call it also if that failed. */
  leave(): void {
    this.#body?.release();
    if (!this.#isSending) this.#place.release();
  }

  /** The same response, which keeps the place until it has been sent or its reader is gone. */
  until(response: Response): Response {
    const length = response.headers.get("content-length");
    if (!response.body || (length !== null && Number(length) <= smallBytes)) return response;
    const output = length === null ? undefined : this.#bounds.bytes.take(this.#owner, Number(length));
    this.#isSending = true;
    const release = () => {
      output?.release();
      this.#place.release();
    };
    const { status, statusText, headers } = response;
    return new Response(whenOver(response.body, release), { status, statusText, headers });
  }
}

/** The same stream. Calls back once, when it has ended, failed or been cancelled. */
function whenOver(source: ReadableStream<Uint8Array>, callback: () => void): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          controller.close();
        } catch (error) {
          controller.error(error);
        }
        callback();
      },
      async cancel(reason) {
        callback();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
