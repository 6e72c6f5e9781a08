import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { lostBody, openBody, parsedBody } from "./incoming-body.ts";
import { setMountPath } from "./mount-path.ts";
import { requestUrl } from "./request-url.ts";

/** What `node:http`, `node:https` and `node:http2` give a listener, also after middleware of Express or Connect. */
export type Incoming = (IncomingMessage | Http2ServerRequest) & {
  /** Express: the path at which this handler is mounted. It is not in `url` then. */
  baseUrl?: unknown;
  /** Connect: what `url` was before the mount path was removed from it. */
  originalUrl?: unknown;
  /** What a body parser has read. */
  body?: unknown;
};

/**
 * An incoming message as a `Request`; undefined if it cannot be one, because it does not name one host or its request
 * line is not valid. The body is read when the request's body is. The address is the one that the client asked for, also
 * if a framework has removed its mount path.
 */
export function toRequest(incoming: Incoming): Request | undefined {
  const { method = "GET" } = incoming;
  try {
    const url = requestUrl(incoming);
    if (!url) return undefined;
    const path = url.pathname;
    const removed = removedPath(incoming);
    if (removed !== "") url.pathname = removed + path;
    const request = new Request(url, { method, ...contentOf(incoming, method) });
    if (removed !== "" && url.pathname.endsWith(path)) setMountPath(request, url.pathname.slice(0, -path.length));
    return request;
  } catch {
    return undefined;
  }
}

/** The part of a `Request` that depends on the body. A body that is a stream is sent before the reply comes. */
type Content = Pick<RequestInit, "headers" | "body"> & { duplex?: "half" };

function contentOf(incoming: Incoming, method: string): Content {
  const headers = headersOf(incoming);
  if (method === "GET" || method === "HEAD") return { headers };
  if (!incoming.readableEnded) return { headers, body: openBody(incoming), duplex: "half" };
  const body = parsedBody(incoming.body);
  if (!body) return { headers, body: lostBody(), duplex: "half" };
  // The parser has undone the encoding, and the text may have another length than the one that came.
  for (const name of ["content-encoding", "transfer-encoding"]) delete headers[name];
  headers["content-length"] = String(body.byteLength);
  return { headers, body };
}

/** A record and not pairs, of which `Request` makes many more objects. */
function headersOf({ headers }: Incoming): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    // HTTP/2 has the request line among the headers.
    if (value !== undefined && !name.startsWith(":")) flat[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  const authority = headers[":authority"];
  if (headers.host === undefined && typeof authority === "string") flat["host"] = authority;
  return flat;
}

/** The mount path that a framework has removed from `url`; empty if there is none. */
function removedPath({ baseUrl, originalUrl, url = "" }: Incoming): string {
  const isCut = typeof originalUrl === "string" && url.startsWith("/") && originalUrl.endsWith(url);
  const path = typeof baseUrl === "string" ? baseUrl : isCut ? originalUrl.slice(0, -url.length) : "";
  return path.startsWith("/") ? path.replace(/\/+$/, "") : "";
}
