import type { Logger } from "../agent/index.ts";
import { BridgeError, type ErrorCode } from "../protocol/index.ts";

/** What a client is told when a request or a frame is refused. */
export interface Refusal {
  code: ErrorCode;
  message: string;
  /** After how many seconds another attempt may succeed. Default: what the table of errors says. */
  retryAfter?: number;
}

/** All that a client is told about a failure of the server; the details may be secret and go to the log. */
export const failureMessage = "Something went wrong on the server. The details are in its log.";

/** For input that `node:http` accepts and the `Request` of the Fetch standard does not. */
export const malformedRequest: Refusal = {
  code: "malformed",
  message: "The request line or a header is not valid, or there is no Host header.",
};

/** A `BridgeError` in its own words. Anything else is logged as `event`, and the client is told `failureMessage`. */
export function toRefusal(error: unknown, logger: Logger, event: string, fields?: Record<string, unknown>): Refusal {
  if (error instanceof BridgeError) {
    const { code, message, retryAfter } = error;
    return { code, message, ...(retryAfter !== undefined && { retryAfter }) };
  }
  logFailure(error, logger, event, fields);
  return { code: "internal", message: failureMessage };
}

/** Logs an error with its stack. */
export function logFailure(error: unknown, logger: Logger, event: string, fields?: Record<string, unknown>): void {
  logger.error(event, { ...fields, error: error instanceof Error ? error.stack : String(error) });
}
