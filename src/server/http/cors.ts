import { chatIdHeader } from "./name-chat.ts";

/**
 * Lets pages of the allowed origins read a response, and no others. Cookies are allowed, because the guard has checked
 * the origin and `*` is never sent.
 */
export function withCors(request: Request, response: Response, allowedOrigins: readonly string[]): Response {
  const origin = request.headers.get("origin");
  if (origin === null || !allowedOrigins.includes(origin)) return response;
  response.headers.set("access-control-allow-origin", origin);
  response.headers.set("access-control-allow-credentials", "true");
  // A page of another origin could not read these headers otherwise.
  response.headers.append("access-control-expose-headers", `${chatIdHeader}, retry-after, date`);
  response.headers.append("vary", "origin");
  return response;
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
