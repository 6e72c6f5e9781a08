import type { ClientFrame } from "../../protocol/index.ts";
import type { Refusal } from "../refusal.ts";

/** How one socket talks. The connection chooses a wire by the first frame and then knows only this. */
export interface Wire {
  /** Handles one frame. Throws if the frame is refused, also if it belongs to another wire. */
  receive(frame: ClientFrame): Promise<void>;
  /** Tells the client that a frame was refused; `requestId` is the one that the frame named. */
  refuse(refusal: Refusal, requestId: string | undefined): void;
  /** The socket is closed. Stops reading; the turns go on. */
  close(): void;
}
