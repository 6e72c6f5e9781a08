/** Where details go. Arguments and secrets never do: digests and ids stand for them. */
export interface Logger {
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** What is said where nobody gave a logger: what goes wrong, and nothing else. */
/* oxlint-disable no-console -- the one place that says something where nobody else listens */
export const consoleLogger: Logger = {
  info: () => {},
  warn: (message, fields) => console.warn(message, fields ?? ""),
  error: (message, fields) => console.error(message, fields ?? ""),
};
/* oxlint-enable no-console */

export const silentLogger: Logger = { info: () => {}, warn: () => {}, error: () => {} };

export const describeError = (error: unknown): string => (error instanceof Error ? error.message : String(error));
