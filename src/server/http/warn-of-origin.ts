import { consoleLogger, type Logger } from "../../agent/index.ts";

/** How many origins of one server are logged. Any page can send requests, and must not fill the log. */
const maxOrigins = 20;
const maxLength = 200;

/** The origins that were logged, by the options of the server. */
const logged = new WeakMap<object, Set<string>>();

/** Logs that requests from an origin are refused, once for each origin, so that the owner of the server finds the option. */
export function warnOfOrigin(options: { logger?: Logger }, origin: string): void {
  const known = logged.get(options) ?? new Set<string>();
  logged.set(options, known);
  const shown = origin.slice(0, maxLength);
  if (known.has(shown) || known.size >= maxOrigins) return;
  known.add(shown);
  const { logger = consoleLogger } = options;
  logger.warn("A request was refused because of its origin. The option allowedOrigins can allow it.", {
    origin: shown,
  });
}
