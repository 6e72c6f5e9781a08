import { errorTable, retryAfterOf } from "../../protocol/index.ts";
import type { Refusal } from "../refusal.ts";

const jsonHeaders = {
  "content-type": "application/json; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

/** A value as a JSON response that no cache keeps. */
export function jsonResponse(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  const body = Buffer.from(JSON.stringify(value));
  return new Response(body, { status, headers: { ...jsonHeaders, "content-length": String(body.length), ...headers } });
}

/** A refusal with the status that its code has in the table of errors, and the time of the next attempt. */
export function errorResponse(
  { code, message, retryAfter }: Refusal,
  headers?: Record<string, string>,
  status: number = errorTable[code].status,
): Response {
  const seconds = retryAfterOf(code, retryAfter);
  return jsonResponse({ code, message }, status, {
    ...(seconds !== undefined && { "retry-after": String(seconds) }),
    ...headers,
  });
}
