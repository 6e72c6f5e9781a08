import type { IncomingMessage } from "node:http";

/** A host with its port, and nothing that would move the rest of the address: no user, path or query. */
const host = /^[^\s/?#@\\]+$/;

/**
 * The address of a request; undefined if the message does not name exactly one host. Hooks such as `authenticate` may
 * trust the host of the address, so it is always the one of the Host header: a target such as `//evil/approvals` is a
 * path, and a target with a host of its own must name the same host.
 */
export function requestUrl({
  url: target = "/",
  headers,
  rawHeaders,
}: Pick<IncomingMessage, "url" | "headers" | "rawHeaders">): URL | undefined {
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host");
  if (headers.host === undefined || hosts.length > 1 || !host.test(headers.host)) return undefined;
  const origin = `http://${headers.host}`;
  if (target.startsWith("/")) return new URL(origin + target);
  const absolute = /^https?:\/\//i.test(target) ? new URL(target) : undefined;
  return absolute?.host === new URL(origin).host && !absolute.username && !absolute.password ? absolute : undefined;
}
