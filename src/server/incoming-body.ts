import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { BridgeError } from "../protocol/index.ts";
import { LoopTurns } from "./loop-turns.ts";

type Incoming = IncomingMessage | Http2ServerRequest;

/** How long a client whose body is not read has to read its reply. */
const cutMs = 1000;
/** Closing a connection drops what the client has sent, which takes its time. */
const cuts = new LoopTurns();

/**
 * A body that is read on demand. If it is not read to its end, the rest is read and dropped: with `Readable.toWeb` the
 * rest would stay in the connection, and the client's next request would wait for it. If the server has no room for the
 * body, the connection (in HTTP/2 the stream) is cut instead: reading the rest would cost as much as the body that was
 * refused.
 */
export function openBody(incoming: Incoming): ReadableStream<Uint8Array> {
  let pieces: AsyncIterator<Uint8Array, undefined> | undefined;
  const source: UnderlyingDefaultSource<Uint8Array> = {
    async pull(controller) {
      pieces ??= incoming.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array, undefined>;
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel(reason) {
      if (reason instanceof BridgeError && reason.retryAfter !== undefined) return cut(incoming);
      await pieces?.return?.();
      incoming.resume();
    },
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}

/**
 * The bytes of what a parser has left as `body`: `express.raw()` leaves bytes, `express.text()` a text, and
 * `express.json()` a value. Undefined if there is none. Throws if it cannot be written as JSON.
 */
export function parsedBody(parsed: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (parsed instanceof Uint8Array) return new Uint8Array(parsed);
  const text = typeof parsed === "string" ? parsed : JSON.stringify(parsed);
  return text === undefined ? undefined : new TextEncoder().encode(text);
}

/** Stands for a body that was read by something that has not kept it. */
export function lostBody(): ReadableStream<Uint8Array> {
  const message =
    "Something has read the body before this handler and has not left it in `body`. Mount this handler before it.";
  return new ReadableStream({ pull: (controller) => controller.error(new BridgeError("internal", message)) });
}

/** Stops reading, and ends the connection after the reply. */
function cut(incoming: Incoming): void {
  // Begins to read, if no one has. Otherwise `node:http` would read the whole body after the reply.
  incoming.read(0);
  incoming.pause();
  const destroy = () => void ("stream" in incoming ? incoming.stream : incoming.socket).destroy();
  const timer = setTimeout(() => cuts.add(destroy), cutMs).unref();
  incoming.once("close", () => clearTimeout(timer));
}
