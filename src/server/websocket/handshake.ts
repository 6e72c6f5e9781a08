import { BridgeError, type Identity } from "../../protocol/index.ts";
import { type Authenticate, guard, type HandlerOptions, identify } from "../http/index.ts";
import { isSocketPath } from "../mount-path.ts";
import { type Confirmation, dialectOf } from "../views/index.ts";

/** What a socket is and what it asked for. */
export interface Handshake {
  identity: Identity;
  /** Authenticates the request of the handshake again; absent if the server authenticates no one. */
  identifyAgain?: () => Promise<Identity>;
  confirmation: Confirmation;
  /** True if the client asked for sequence numbers and control frames. */
  numbered: boolean;
}

/** Reads the request of a handshake, or throws if it is not allowed. */
export async function readHandshake(
  request: Request,
  options: Pick<
    HandlerOptions,
    "authenticate" | "authenticateMs" | "allowedOrigins" | "basePath" | "confirmation" | "logger"
  >,
): Promise<Handshake> {
  const identity = await guard(request, options, "change");
  const url = new URL(request.url);
  if (!isSocketPath(url.pathname, options.basePath))
    throw new BridgeError("not_found", `There is no WebSocket at ${url.pathname}; connect to /live.`);
  const modality = url.searchParams.get("modality") ?? "text";
  if (modality !== "text")
    throw new BridgeError("invalid", `modality must be "text"; ${JSON.stringify(modality)} is not offered yet.`);
  const numbered = url.searchParams.get("sequence") === "1";
  const { authenticate } = options;
  return {
    identity,
    ...(authenticate && { identifyAgain: againFor(request, authenticate, options) }),
    confirmation: dialectOf(url, options),
    numbered,
  };
}

/** Keeps the address and the headers only: a `Request` is many times their size, and most sockets are idle. */
function againFor(
  { url, headers }: Request,
  authenticate: Authenticate,
  options: Parameters<typeof identify>[2],
): () => Promise<Identity> {
  const kept = [...headers];
  return () => identify(new Request(url, { headers: kept }), authenticate, options);
}
