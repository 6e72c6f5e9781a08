import { errorTable } from "../../protocol/index.ts";
import type { Refusal } from "../refusal.ts";

const jsonHeaders = {
  "content-type": "application/json; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

/** A value as a JSON response that no cache keeps. */
export function jsonResponse(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(value), { status, headers: { ...jsonHeaders, ...headers } });
}

/** A refusal with the status that its code has in the table of errors. */
export function errorResponse({ code, message }: Refusal, headers?: Record<string, string>): Response {
  return jsonResponse({ code, message }, errorTable[code].status, headers);
}
