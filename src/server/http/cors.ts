import { chatIdHeader } from "./name-chat.ts";

/**
 * Lets pages of the allowed origins read a response, and no others. Cookies are allowed, because the guard has checked
 * the origin and `*` is never sent.
 */
export function withCors(request: Request, response: Response, allowedOrigins: readonly string[]): Response {
  const origin = request.headers.get("origin");
  if (origin === null || !allowedOrigins.includes(origin)) return response;
  const { status, statusText } = response;
  // A copy: the headers of a redirect, and of a response that the application has fetched, cannot be changed.
  const headers = new Headers(response.headers);
  headers.set("access-control-allow-origin", origin);
  headers.set("access-control-allow-credentials", "true");
  // A page of another origin could not read these headers otherwise.
  headers.append("access-control-expose-headers", `${chatIdHeader}, retry-after, date`);
  headers.append("vary", "origin");
  return new Response(response.body, { status, statusText, headers });
}

/** The reply to a browser's preflight request; undefined if the request is not one, or its origin is not allowed. */
export function preflight(request: Request, allowedOrigins: readonly string[]): Response | undefined {
  const origin = request.headers.get("origin");
  const asks = request.method === "OPTIONS" && request.headers.has("access-control-request-method");
  if (!asks || origin === null || !allowedOrigins.includes(origin)) return undefined;
  const headers = {
    "access-control-allow-methods": "GET, POST, PATCH, DELETE",
    "access-control-allow-headers": request.headers.get("access-control-request-headers") ?? "content-type",
    "access-control-max-age": "600",
  };
  return withCors(request, new Response(null, { status: 204, headers }), allowedOrigins);
}
