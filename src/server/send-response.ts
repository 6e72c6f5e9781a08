import type { ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";

/** What `node:http`, `node:https` and `node:http2` give a listener to reply with. */
export type Outgoing = ServerResponse | Http2ServerResponse;

/** Headers about one connection. HTTP/2 forbids them. */
const connectionHeaders = new Set(["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"]);

/**
 * Writes a response at the pace of its client, and resolves when it is written or the client is gone; a client that
 * leaves cancels the body. Never rejects: if there is no response, or its body fails, the connection (in HTTP/2 the
 * stream) is cut, so that the client does not take the beginning for the whole.
 */
export async function sendResponse(response: Response | Promise<Response>, outgoing: Outgoing): Promise<void> {
  try {
    await write(await response, outgoing);
  } catch {
    outgoing.destroy();
  }
}

async function write(response: Response, outgoing: Outgoing): Promise<void> {
  if (isGone(outgoing)) return response.body?.cancel();
  writeHead(response, outgoing);
  if (!response.body) {
    outgoing.end();
    return;
  }
  const leaveTogether = corker(outgoing);
  leaveTogether();
  // A reply whose length is known is complete at once, and goes out together with its headers.
  if (!isHttp2(outgoing) && !response.headers.has("content-length")) outgoing.flushHeaders();
  const reader = response.body.getReader();
  // Cancelling ends a pending read, and with it the loop below.
  outgoing.once("close", () => void reader.cancel().catch(() => undefined));
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    leaveTogether();
    const hasRoom = isHttp2(outgoing) ? outgoing.write(read.value) : outgoing.write(read.value);
    flush(outgoing);
    if (!hasRoom && !isGone(outgoing)) await drained(outgoing);
  }
  outgoing.end();
}

function writeHead({ status, headers }: Response, outgoing: Outgoing): void {
  if (!isHttp2(outgoing)) {
    // AI SDK's headers say keep-alive, but the client and the server negotiate whether a connection stays open.
    outgoing.writeHead(status, [...headers].filter(([name]) => name !== "connection").flat());
    return;
  }
  for (const name of new Set(headers.keys()))
    if (!connectionHeaders.has(name))
      outgoing.setHeader(name, name === "set-cookie" ? headers.getSetCookie() : (headers.get(name) ?? ""));
  outgoing.writeHead(status);
}

function isHttp2(outgoing: Outgoing): outgoing is Http2ServerResponse {
  return "stream" in outgoing;
}

function isGone(outgoing: Outgoing): boolean {
  return isHttp2(outgoing) ? outgoing.stream.destroyed : outgoing.destroyed;
}

/** Middleware that compresses keeps what is written until it has enough; its method `flush` sends it. */
function flush(outgoing: Outgoing): void {
  if ("flush" in outgoing && typeof outgoing.flush === "function") outgoing.flush();
}

/** Returns a function that makes all pieces which are written in this tick leave in one write: each costs a system call. */
function corker(outgoing: Outgoing): () => void {
  // The connection of HTTP/2 is shared by several replies, and collects frames by itself.
  const socket = isHttp2(outgoing) ? undefined : outgoing.socket;
  let isCorked = false;
  return () => {
    if (isCorked || !socket) return;
    isCorked = true;
    // Not the response itself: it would send what waits after the end of its body.
    socket.cork();
    // A tick runs after all promises that are ready.
    process.nextTick(() => {
      isCorked = false;
      socket.uncork();
    });
  };
}

/** Resolves when there is room again, or the client is gone. */
function drained(outgoing: Outgoing): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      outgoing.off("drain", done).off("close", done);
      resolve();
    };
    outgoing.on("drain", done).on("close", done);
  });
}
