import { BridgeError } from "../../protocol/index.ts";

/** An approval of another owner is indistinguishable from a missing one, and so is a chat. */
export const unknownApproval = (id: string) => new BridgeError("not_found", `There is no approval ${id} here.`);
export const unknownChat = (name: string) => new BridgeError("not_found", `There is no chat ${name} here.`);
