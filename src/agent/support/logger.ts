import { inspect } from "node:util";

/** Receives details of what happens. Ids and digests are logged, arguments and secrets never are. */
export interface Logger {
  /** Something ordinary happened: a question, a decision, a claim, an outcome. */
  info(message: string, fields?: Record<string, unknown>): void;
  /** Something is not as it should be, and the server goes on. */
  warn(message: string, fields?: Record<string, unknown>): void;
  /** Something failed that an operator should look at. */
  error(message: string, fields?: Record<string, unknown>): void;
}

/** How `createConsoleLogger` prints. */
export interface ConsoleLoggerOptions {
  /** What to print; `info` adds a line for every question, decision, claim and outcome. Default `warn`. */
  level?: keyof Logger;
  /** Prints each line as one JSON object, for programs that collect logs. Default false: lines for people. */
  json?: boolean;
  /** The clock for the times of JSON lines, in milliseconds. Default `Date.now`. */
  now?: () => number;
}

const levels = ["info", "warn", "error"] as const satisfies readonly (keyof Logger)[];

/** A logger that prints to the console: `info` to the standard output, warnings and errors to the error output. */
export function createConsoleLogger({
  level = "warn",
  json = false,
  now = Date.now,
}: ConsoleLoggerOptions = {}): Logger {
  if (!levels.includes(level))
    throw new Error(`The option level must be info, warn or error; it is ${JSON.stringify(level)}.`);
  const lineOf = (name: keyof Logger): Logger[keyof Logger] => {
    if (levels.indexOf(name) < levels.indexOf(level)) return () => {};
    if (!json) return (message, fields) => console[name](toTextLine(message, fields));
    return (message, fields) =>
      console[name](toJsonLine({ time: new Date(now()).toISOString(), level: name, message }, fields));
  };
  return { info: lineOf("info"), warn: lineOf("warn"), error: lineOf("error") };
}

/** The default logger: warnings and errors go to the console. */
export const consoleLogger: Logger = createConsoleLogger();

/** A logger that drops everything, for tests. */
export const silentLogger: Logger = { info: () => {}, warn: () => {}, error: () => {} };

export const describeError = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** One line, so that `grep` finds a message together with its ids. */
function toTextLine(message: string, fields?: Record<string, unknown>): string {
  return fields ? `${message} ${inspect(fields, { breakLength: Infinity, compact: true })}` : message;
}

/** The fields of a line cannot replace its time, level and message. */
function toJsonLine(head: Record<string, unknown>, fields: Record<string, unknown> = {}): string {
  const toText = (_: string, value: unknown): unknown => {
    if (value instanceof Error) return value.message;
    return typeof value === "bigint" ? String(value) : value;
  };
  try {
    return JSON.stringify({ ...head, ...fields, ...head }, toText);
  } catch {
    return JSON.stringify({ ...head, fields: "These are not JSON." });
  }
}
