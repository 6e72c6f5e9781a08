import { BridgeError } from "../../protocol/index.ts";

/** What the readers of a deleted chat are told. Also the reason to stop its turns. */
export const chatDeleted = new BridgeError("not_found", "This chat was deleted.");
