import { chatIdHeader } from "./name-chat.ts";

/**
 * Lets pages of the allowed origins read a response, and no others. Cookies are allowed, because the guard has checked
 * the origin and `*` is never sent.
 */
export function withCors(request: Request, response: Response, allowedOrigins: readonly string[]): Response {
  const origin = request.headers.get("origin");
  if (origin === null || !allowedOrigins.includes(origin)) return response;
  const own = withOpenHeaders(response);
  const { headers } = own;
  headers.set("access-control-allow-origin", origin);
  headers.set("access-control-allow-credentials", "true");
  // A page of another origin could not read these headers otherwise.
  for (const name of [chatIdHeader, "retry-after", "date"]) addOnce(headers, "access-control-expose-headers", name);
  addOnce(headers, "vary", "origin");
  return own;
}

/**
 * The response itself, because an application may have put something into it that its platform looks for. A copy if its
 * headers cannot be changed: those of a redirect, and of a response that the application has fetched.
 */
function withOpenHeaders(response: Response): Response {
  try {
    response.headers.delete("access-control-allow-origin");
    return response;
  } catch {
    return new Response(response.body, response);
  }
}

/** Adds a value to a list, unless it is there: an application may return the same response without a body again and again. */
function addOnce(headers: Headers, name: string, value: string): void {
  const listed = headers.get(name)?.toLowerCase() ?? "";
  if (!listed.split(/\s*,\s*/).includes(value)) headers.append(name, value);
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
