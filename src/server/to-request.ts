import type { IncomingMessage } from "node:http";

/** What `node:http` read, as the standard's `Request`; undefined where it is too broken to be one. */
export function toRequest(incoming: IncomingMessage): Request | undefined {
  const { method = "GET", url = "/", headers } = incoming;
  if (headers.host === undefined) return undefined;
  try {
    const flat = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
    );
    const hasBody = method !== "GET" && method !== "HEAD";
    return new Request(new URL(url, `http://${headers.host}`), {
      method,
      headers: flat,
      ...(hasBody && { body: bodyOf(incoming), duplex: "half" }),
    });
  } catch {
    return undefined;
  }
}

/**
 * A body that is read when somebody wants it. When it is left early, the rest is read and thrown away: with
 * `Readable.toWeb` it would stay in the connection, and the client's next request would wait behind it.
 */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  let pieces: AsyncIterator<Uint8Array, undefined> | undefined;
  const source: UnderlyingDefaultSource<Uint8Array> = {
    async pull(controller) {
      pieces ??= incoming.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array, undefined>;
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await pieces?.return?.();
      incoming.resume();
    },
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}
