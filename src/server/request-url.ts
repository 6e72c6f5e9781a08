import type { IncomingHttpHeaders } from "node:http";

/** A host with its port, and nothing that would move the rest of the address: no user, path or query. */
const host = /^[^\s/?#@\\]+$/;

/** The beginning of a message. HTTP/2 names the host in `:authority`. */
interface Head {
  url?: string | undefined;
  headers: IncomingHttpHeaders;
  rawHeaders: readonly string[];
}

/**
 * The address of a request; undefined if the message does not name exactly one host. Hooks such as `authenticate` may
 * trust the host of the address, so it is always the one of the Host header: a target such as `//evil/approvals` is a
 * path, and a target with a host of its own must name the same host.
 */
export function requestUrl({ url: target = "/", headers, rawHeaders }: Head): URL | undefined {
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host");
  const authority = headers[":authority"] ?? headers.host;
  if (typeof authority !== "string" || hosts.length > 1 || !host.test(authority)) return undefined;
  if (headers.host !== undefined && headers.host !== authority) return undefined;
  const origin = `http://${authority}`;
  if (target.startsWith("/")) return new URL(origin + target);
  const absolute = /^https?:\/\//i.test(target) ? new URL(target) : undefined;
  return absolute?.host === new URL(origin).host && !absolute.username && !absolute.password ? absolute : undefined;
}
