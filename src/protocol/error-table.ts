import { type ErrorCode, secondsToRetry } from "./errors.ts";
import { signedOutCode } from "./signed-out-code.ts";

/**
 * The HTTP status and the WebSocket close code of each error code, and after how many seconds the same request may succeed,
 * if it may. It is the server's: a page has no use for it.
 */
export const errorTable = {
  malformed: { status: 400, close: 1007 },
  invalid: { status: 400, close: 1008 },
  unauthenticated: { status: 401, close: signedOutCode },
  forbidden: { status: 403, close: 1008 },
  not_found: { status: 404, close: 1008 },
  method_not_allowed: { status: 405, close: 1008 },
  conflict: { status: 409, close: 1008 },
  too_large: { status: 413, close: 1009 },
  unsupported_media_type: { status: 415, close: 1003 },
  too_many: { status: 429, close: 1013, retryAfter: secondsToRetry.too_many },
  internal: { status: 500, close: 1011 },
  unavailable: { status: 503, close: 1013, retryAfter: secondsToRetry.unavailable },
} as const satisfies Record<ErrorCode, { status: number; close: number; retryAfter?: number }>;
