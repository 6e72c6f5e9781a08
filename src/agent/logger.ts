/** Where details go. Arguments and secrets never do: digests and ids stand for them. */
export interface Logger {
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

export const silentLogger: Logger = { info: () => {}, warn: () => {}, error: () => {} };

export const describeError = (error: unknown): string => (error instanceof Error ? error.message : String(error));
