import type { ClientFrame } from "../../protocol/index.ts";
import type { Refusal } from "../refusal.ts";

/** How the frames of one socket are handled. The first frame of the socket decides which implementation it gets. */
export interface Wire {
  /** Handles one frame. Throws if the frame is refused, also if it belongs to another wire. */
  receive(frame: ClientFrame): Promise<void>;
  /** Tells the client that a frame was refused; `requestId` is the one that the frame named. */
  refuse(refusal: Refusal, requestId: string | undefined): void;
  /** The socket is closed. Stops reading; the turns go on. */
  close(): void;
}

/**
 * True for frames that bring answers, results or messages. Before each of them the socket is authenticated again, as a
 * request over HTTP would be. The others read, or stop a reply; they stay possible until the next heartbeat.
 */
export function changesSomething({ type }: ClientFrame): boolean {
  return type === "message" || type === "tool_result" || type === "send";
}
