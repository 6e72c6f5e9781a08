import { BridgeError } from "../../protocol/index.ts";

/** Finds who sends a request. Return undefined to refuse it. */
export type Authenticate = (request: Request) => Promise<Identity | undefined> | Identity | undefined;

/** The owner of the chats that a request may use. */
export type Identity = string | { owner: string };

export interface GuardOptions {
  /** Finds the owner. Without it only this machine is served, and all its requests have the same owner. */
  authenticate?: Authenticate;
  /** Exact origins (`https://app.example`) besides the server's own that may send requests from a browser. */
  allowedOrigins?: readonly string[];
}

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/;

/** Whether a request only reads or may change something. A WebSocket handshake is a GET that may change something. */
type Purpose = "read" | "change";

/** Checks where a request comes from and who sends it, before every route. Returns the owner or throws. */
export async function guard(
  request: Request,
  { authenticate, allowedOrigins = [] }: GuardOptions,
  purpose: Purpose = request.method === "GET" || request.method === "HEAD" ? "read" : "change",
): Promise<string> {
  if (!authenticate && !loopback.test(hostOf(request)))
    // Another site can make its own name point to this machine (DNS rebinding); the Host header still has that name.
    throw new BridgeError(
      "forbidden",
      `Without authentication this server accepts only the Host localhost, 127.0.0.1 or [::1], not ${JSON.stringify(hostOf(request))}.`,
    );
  if (purpose === "change") checkOrigin(request, allowedOrigins, authenticate !== undefined);
  if (!authenticate) return "local";
  const found: unknown = await authenticate(request);
  const owner = typeof found === "object" && found !== null ? (found as { owner?: unknown }).owner : found;
  if (owner === undefined || owner === null || owner === "")
    throw new BridgeError("unauthenticated", "This request is not authenticated.");
  if (typeof owner !== "string")
    throw new TypeError(`authenticate must return the owner as a string; it returned ${JSON.stringify(owner)}.`);
  return owner;
}

/** Browsers name the origin of a request; one that may change something must come from a known page. */
function checkOrigin(request: Request, allowedOrigins: readonly string[], authenticated: boolean): void {
  const origin = request.headers.get("origin");
  if (origin === null) {
    if (request.headers.get("sec-fetch-site") === "cross-site" || (authenticated && request.headers.has("cookie")))
      throw new BridgeError("forbidden", "A request from another site, or one with cookies, needs an Origin header.");
    return;
  }
  if (!allowedOrigins.includes(origin) && !isOwnOrigin(origin, request))
    throw new BridgeError("forbidden", `Requests from the origin ${JSON.stringify(origin)} are not allowed.`);
}

function isOwnOrigin(origin: string, request: Request): boolean {
  return origin === `http://${hostOf(request)}` || origin === `https://${hostOf(request)}`;
}

function hostOf(request: Request): string {
  return request.headers.get("host") ?? new URL(request.url).host;
}
