import { BridgeError } from "../protocol/index.ts";

/** SQLSTATE codes, or classes of them, that say nothing about the statement: it may succeed when it is made again. */
const passing = [
  "08", // the connection failed
  "40", // a deadlock, or two transactions that exclude each other
  "53", // out of connections, memory or disk space
  "57", // shut down, starting up, or cancelled by a timeout
  "25006", // a server that only reads
  "25P03", // a transaction that was idle for too long
  "55P03", // a lock that could not be had
];
/** Codes of transactions that were rolled back and may be made again at once. */
const rolledBack: ReadonlySet<string> = new Set(["40001", "40P01"]);

/** The connection was lost after a statement was sent, so it may or may not have been carried out. */
class ConnectionLost extends BridgeError {}

/** The database refused a statement: one of its rules, or a fault of ours. */
export interface DatabaseRefusal extends Error {
  code: string;
  constraint?: string;
}

/** What a caller gets for an error of the driver. The address of the database is not in it. */
export function toStoreError(error: unknown): unknown {
  if (error instanceof BridgeError) return error;
  const code = codeOf(error);
  // Errors of the server have a code of five characters. Everything else happened to the connection.
  if (/^[0-9A-Z]{5}$/.test(code) && error instanceof Error && "severity" in error) {
    if (code.startsWith("57P") || code.startsWith("08"))
      return new ConnectionLost("unavailable", away, { cause: error });
    return passing.some((start) => code.startsWith(start))
      ? new BridgeError("unavailable", away, { cause: error })
      : error;
  }
  return new ConnectionLost("unavailable", away, { cause: error });
}

/** What a caller gets if it was led to a server that only reads: one that follows another server, or is being replaced. */
export function readOnlyError(): BridgeError {
  return new BridgeError("unavailable", away, { cause: new Error("The database can only be read.") });
}

/** True if a statement was sent and its outcome is not known. */
export function isConnectionLost(error: unknown): boolean {
  return error instanceof ConnectionLost;
}

/** True if the server has rolled back a transaction because of another one. */
export function isRolledBack(error: unknown): boolean {
  return error instanceof BridgeError && rolledBack.has(codeOf(error.cause));
}

export function isRefusal(error: unknown, code: string): error is DatabaseRefusal {
  return error instanceof Error && codeOf(error) === code;
}

/** The code of a violated unique constraint. */
export const uniqueViolation = "23505";

const away = "The database does not answer. Try again in a moment.";

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === "string" ? code : "";
}
