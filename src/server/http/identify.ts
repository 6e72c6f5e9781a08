import { consoleLogger, type Logger } from "../../agent/index.ts";
import { BridgeError, type Identity, isName, nameRule } from "../../protocol/index.ts";

/**
 * Finds who sends a request. A string is both the owner and the actor; `actor` defaults to the owner. Return undefined to
 * refuse the request. For a WebSocket it gets the request of the handshake, again and again while the socket is open; for a
 * stream that stays open while a call waits, the request without its body, again before the stream goes on.
 */
export type Authenticate = (request: Request) => Promise<Authenticated | undefined> | Authenticated | undefined;

/** What `authenticate` returns. */
export type Authenticated = string | { owner: string; actor?: string };

/**
 * Asks `authenticate`. Throws `unauthenticated` if it finds no one, or something that is not an identity, and `unavailable`
 * if it takes too long.
 */
export async function identify(
  request: Request,
  authenticate: Authenticate,
  { authenticateMs = 10_000, logger = consoleLogger }: { authenticateMs?: number; logger?: Logger },
): Promise<Identity> {
  const found = await inTime(authenticateMs, async (): Promise<unknown> => authenticate(request));
  if (found === undefined || found === null || found === "") throw unauthenticated();
  const isObject = typeof found === "object" && !Array.isArray(found);
  const { owner, actor = owner } = (isObject ? found : { owner: found }) as { owner?: unknown; actor?: unknown };
  for (const [field, name] of Object.entries({ owner, actor })) {
    if (isName(name)) continue;
    // Not the value itself: it may be a whole user record.
    logger.error(`authenticate must return the ${field} as ${nameRule}; it returned ${kindOf(name)}.`);
    throw unauthenticated();
  }
  return { owner, actor } as Identity;
}

function unauthenticated(): BridgeError {
  return new BridgeError("unauthenticated", "This request is not authenticated.");
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "string") return value === "" ? "an empty string" : "a string with other characters";
  return Array.isArray(value) ? "an array" : `a value of type ${typeof value}`;
}

async function inTime<T>(limitMs: number, work: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const error = new BridgeError(
      "unavailable",
      "Checking who sends this request took too long. Try again in a moment.",
    );
    timer = setTimeout(() => reject(error), limitMs);
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
}
