import type { IncomingMessage, ServerResponse } from "node:http";
import { LoopTurns } from "./loop-turns.ts";
import { requestUrl } from "./request-url.ts";
import { BridgeError } from "../protocol/index.ts";

/**
 * `node:http` and `node:https` on one side, the `Request` and `Response` of the Fetch standard on the other, so that
 * `createHandler` can be mounted on a server of your own:
 *
 *     const handle = createHandler(options);
 *     const server = createServer((incoming, outgoing) => {
 *       const request = toRequest(incoming);
 *       void sendResponse(request ? handle(request) : new Response(null, { status: 400 }), outgoing);
 *     });
 */

/**
 * An incoming message as a `Request`; undefined if it cannot be one, because it does not name one host or its request
 * line is not valid. The body is read when the request's body is.
 */
export function toRequest(incoming: IncomingMessage): Request | undefined {
  const { method = "GET", headers } = incoming;
  try {
    const url = requestUrl(incoming);
    if (!url) return undefined;
    const flat = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
    );
    const hasBody = method !== "GET" && method !== "HEAD";
    return new Request(url, {
      method,
      headers: flat,
      ...(hasBody && { body: bodyOf(incoming), duplex: "half" }),
    });
  } catch {
    return undefined;
  }
}

/**
 * Writes a response at the pace of its client, and resolves when it is written or the client is gone; a client that
 * leaves cancels the body. Never rejects: if there is no response, or its body fails, the connection is cut, so that the
 * client does not take the beginning for the whole.
 */
export async function sendResponse(response: Response | Promise<Response>, outgoing: ServerResponse): Promise<void> {
  try {
    await write(await response, outgoing);
  } catch {
    outgoing.destroy();
  }
}

async function write(response: Response, outgoing: ServerResponse): Promise<void> {
  if (outgoing.destroyed) return response.body?.cancel();
  // AI SDK's headers say keep-alive, but the client and the server negotiate whether a connection stays open.
  outgoing.writeHead(response.status, [...response.headers].filter(([name]) => name !== "connection").flat());
  if (!response.body) {
    outgoing.end();
    return;
  }
  const leaveTogether = corker(outgoing);
  leaveTogether();
  // A reply whose length is known is complete at once, and goes out together with its headers.
  if (!response.headers.has("content-length")) outgoing.flushHeaders();
  const reader = response.body.getReader();
  // Cancelling ends a pending read, and with it the loop below.
  outgoing.once("close", () => void reader.cancel().catch(() => undefined));
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    leaveTogether();
    if (!outgoing.write(read.value) && !outgoing.destroyed) await drained(outgoing);
  }
  outgoing.end();
}

/** Returns a function that makes all pieces which are written in this tick leave in one write: each costs a system call. */
function corker({ socket }: ServerResponse): () => void {
  let isCorked = false;
  return () => {
    if (isCorked) return;
    isCorked = true;
    // Not the response itself: it would send what waits after the end of its body.
    socket?.cork();
    // A tick runs after all promises that are ready.
    process.nextTick(() => {
      isCorked = false;
      socket?.uncork();
    });
  };
}

/** Resolves when there is room again, or the client is gone. */
function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      outgoing.off("drain", done).off("close", done);
      resolve();
    };
    outgoing.on("drain", done).on("close", done);
  });
}

/** How long a client whose body is not read has to read its reply. */
const cutMs = 1000;
/** Closing a connection drops what the client has sent, which takes its time. */
const cuts = new LoopTurns();

/**
 * A body that is read on demand. If it is not read to its end, the rest is read and dropped: with `Readable.toWeb` the
 * rest would stay in the connection, and the client's next request would wait for it. If the server has no room for the
 * body, the connection is cut instead: reading the rest would cost as much as the body that was refused.
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
    async cancel(reason) {
      if (reason instanceof BridgeError && reason.retryAfter !== undefined) return cut(incoming);
      await pieces?.return?.();
      incoming.resume();
    },
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}

/** Stops reading, and ends the connection after the reply. */
function cut(incoming: IncomingMessage): void {
  // Begins to read, if no one has. Otherwise `node:http` would read the whole body after the reply.
  incoming.read(0);
  incoming.pause();
  const destroy = () => void incoming.socket.destroy();
  const timer = setTimeout(() => cuts.add(destroy), cutMs).unref();
  incoming.once("close", () => clearTimeout(timer));
}
