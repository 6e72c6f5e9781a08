/**
 * One error class for every rule a caller can break. The message says what was expected, what came, and which id. Only code,
 * message and time reach a browser; details are logged. What the server makes of a code is in `error-table.ts`.
 */

/** Why a request was refused or failed. In a browser it is what the server has sent: a newer server may send another one. */
export type ErrorCode =
  | "malformed"
  | "invalid"
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "method_not_allowed"
  | "conflict"
  | "too_large"
  | "unsupported_media_type"
  | "too_many"
  | "internal"
  | "unavailable";

/** After how many seconds the same request may succeed. With any other code it would be refused again. */
export const secondsToRetry = { too_many: 1, unavailable: 1 } as const;

/** After how many seconds a refused request may be sent again; undefined if it would be refused again. */
export function retryAfterOf(code: ErrorCode, given?: number): number | undefined {
  const seconds = (secondsToRetry as Partial<Record<ErrorCode, number>>)[code];
  return seconds && (given ?? seconds);
}

/** True for the error of something that does not exist, or no longer. */
export function isNotFound(error: unknown): boolean {
  return error instanceof BridgeError && error.code === "not_found";
}

/** A broken rule, with a message that is safe to show. */
export class BridgeError extends Error {
  override readonly name = "BridgeError";
  readonly code: ErrorCode;
  /** After how many seconds the same request may succeed, if the code allows another attempt. */
  readonly retryAfter: number | undefined;
  constructor(code: ErrorCode, message: string, options?: ErrorOptions & { retryAfter?: number | undefined }) {
    super(message, options);
    this.code = code;
    this.retryAfter = retryAfterOf(code, options?.retryAfter);
  }
}
