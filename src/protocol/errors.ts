/**
 * One error class for every rule a caller can break. The table maps each code to its HTTP status and WebSocket close code,
 * and says after how many seconds the same request may succeed, if it may. The message says what was expected, what came,
 * and which id. Only code, message and time reach a browser; details are logged.
 */

export const errorTable = {
  malformed: { status: 400, close: 1007 },
  invalid: { status: 400, close: 1008 },
  // A code of its own: a client has to tell a user who is signed out from a frame that is at fault.
  unauthenticated: { status: 401, close: 4401 },
  forbidden: { status: 403, close: 1008 },
  not_found: { status: 404, close: 1008 },
  method_not_allowed: { status: 405, close: 1008 },
  conflict: { status: 409, close: 1008 },
  too_large: { status: 413, close: 1009 },
  unsupported_media_type: { status: 415, close: 1003 },
  too_many: { status: 429, close: 1013, retryAfter: 1 },
  internal: { status: 500, close: 1011 },
  unavailable: { status: 503, close: 1013, retryAfter: 1 },
} as const satisfies Record<string, { status: number; close: number; retryAfter?: number }>;

/** Why a request was refused or failed: a name of `errorTable`. */
export type ErrorCode = keyof typeof errorTable;

/** After how many seconds a refused request may be sent again; undefined if it would be refused again. */
export function retryAfterOf(code: ErrorCode, given?: number): number | undefined {
  const row: { status: number; retryAfter?: number } = errorTable[code];
  return row.retryAfter === undefined ? undefined : (given ?? row.retryAfter);
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
