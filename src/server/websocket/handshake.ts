import { BridgeError } from "../../protocol/index.ts";
import { guard, type HandlerOptions } from "../http/index.ts";
import { type Confirmation, dialectOf } from "../views/index.ts";

/** What a socket is and what it asked for. */
export interface Handshake {
  owner: string;
  confirmation: Confirmation;
  /** True if the client asked for sequence numbers and control frames. */
  numbered: boolean;
}

/** Reads the request of a handshake, or throws if it is not allowed. */
export async function readHandshake(
  request: Request,
  options: Pick<HandlerOptions, "authenticate" | "allowedOrigins" | "confirmation">,
): Promise<Handshake> {
  const owner = await guard(request, options, "change");
  const url = new URL(request.url);
  if (url.pathname !== "/live")
    throw new BridgeError("not_found", `There is no WebSocket at ${url.pathname}; connect to /live.`);
  const modality = url.searchParams.get("modality") ?? "text";
  if (modality !== "text")
    throw new BridgeError("invalid", `modality must be "text"; ${JSON.stringify(modality)} is not offered yet.`);
  return { owner, confirmation: dialectOf(url, options), numbered: url.searchParams.get("sequence") === "1" };
}
