import type { Bridge, Logger } from "../../agent/index.ts";
import type { ServerBounds } from "../server-bounds.ts";
import type { AtOnce } from "./at-once.ts";
import type { ChatArrivals } from "./chat-arrivals.ts";
import type { SentMessages } from "./sent-messages.ts";

/** What all sockets of a server share. */
export interface SocketShared {
  bridge: Bridge;
  logger: Logger;
  bounds: ServerBounds;
  arrivals: ChatArrivals;
  sent: SentMessages;
  /** Where the heartbeats of sockets wait to authenticate. */
  heartbeats: AtOnce;
  /** How many bytes of a frame may be new. */
  maxBodyBytes: number;
  now: () => number;
}
