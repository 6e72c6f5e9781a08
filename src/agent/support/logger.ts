/** Receives details of what happens. Ids and digests are logged, arguments and secrets never are. */
export interface Logger {
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** The default logger: warnings and errors go to the console. */
/* oxlint-disable no-console -- the default where the application gives no logger */
export const consoleLogger: Logger = {
  info: () => {},
  warn: (message, fields) => console.warn(message, fields ?? ""),
  error: (message, fields) => console.error(message, fields ?? ""),
};
/* oxlint-enable no-console */

export const silentLogger: Logger = { info: () => {}, warn: () => {}, error: () => {} };

export const describeError = (error: unknown): string => (error instanceof Error ? error.message : String(error));
