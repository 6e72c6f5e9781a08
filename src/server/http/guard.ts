import type { Logger } from "../../agent/index.ts";
import { BridgeError, type Identity, toIdentity } from "../../protocol/index.ts";
import { quote } from "../../protocol/quote.ts";
import { type Authenticate, identify } from "./identify.ts";
import { warnOfOrigin } from "./warn-of-origin.ts";

/** Who may send requests, and from where. */
export interface GuardOptions {
  /** Finds owner and actor. Default: only this machine is served, and all its requests have the same owner. */
  authenticate?: Authenticate;
  /** Exact origins (`https://app.example`) besides the server's own that may send requests from a browser. Default: none. */
  allowedOrigins?: readonly string[];
  /** How long `authenticate` may take. Default 10 seconds. */
  authenticateMs?: number;
  /** Gets the details of errors, which are not sent to clients. Default: warnings and errors go to the console. */
  logger?: Logger;
}

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/;

/** Whether a request only reads or may change something. A WebSocket handshake is a GET that may change something. */
type Purpose = "read" | "change";

/** Checks where a request comes from and who sends it, before every route. Returns who it is, or throws. */
export async function guard(
  request: Request,
  options: GuardOptions,
  purpose: Purpose = request.method === "GET" || request.method === "HEAD" ? "read" : "change",
): Promise<Identity> {
  const { authenticate } = options;
  checkHost(request, options);
  if (purpose === "change") checkOrigin(request, options);
  return authenticate ? identify(request, authenticate, options) : toIdentity("local");
}

/** Without authentication only this machine is served. */
export function checkHost(request: Request, { authenticate }: GuardOptions): void {
  if (authenticate || loopback.test(hostOf(request))) return;
  // Another site can make its own name point to this machine (DNS rebinding); the Host header still has that name.
  throw new BridgeError(
    "forbidden",
    `Without authentication this server accepts only the Host localhost, 127.0.0.1 or [::1], not ${JSON.stringify(hostOf(request))}.`,
  );
}

/** Throws a sentence about the first wrong option. */
export function checkGuardOptions({ authenticate, authenticateMs }: GuardOptions): void {
  if (authenticate !== undefined && typeof authenticate !== "function")
    throw new Error("The option authenticate must be a function that returns the owner of a request.");
  if (authenticateMs !== undefined && !(typeof authenticateMs === "number" && authenticateMs > 0))
    throw new Error("The option authenticateMs must be a number of milliseconds, greater than 0.");
}

/** Browsers name the origin of a request; one that may change something must come from a known page. */
function checkOrigin(request: Request, options: GuardOptions): void {
  const { authenticate, allowedOrigins = [] } = options;
  const origin = request.headers.get("origin");
  if (origin === null) {
    if (request.headers.get("sec-fetch-site") === "cross-site" || (authenticate && request.headers.has("cookie")))
      throw new BridgeError("forbidden", "A request from another site, or one with cookies, needs an Origin header.");
    return;
  }
  if (allowedOrigins.includes(origin) || isOwnOrigin(origin, request)) return;
  warnOfOrigin(options, origin);
  throw new BridgeError(
    "forbidden",
    `Requests from the origin ${quote(origin)} are not allowed. The server's option allowedOrigins can allow it.`,
  );
}

function isOwnOrigin(origin: string, request: Request): boolean {
  return origin === `http://${hostOf(request)}` || origin === `https://${hostOf(request)}`;
}

function hostOf(request: Request): string {
  return request.headers.get("host") ?? new URL(request.url).host;
}
