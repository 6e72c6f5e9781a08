import { type ApprovalView, BridgeError } from "../../protocol/index.ts";

/** An approval of another owner is indistinguishable from a missing one, and so is a chat. */
export const unknownApproval = (id: string) => new BridgeError("not_found", `There is no approval ${id} here.`);
export const unknownChat = (name: string) => new BridgeError("not_found", `There is no chat ${name} here.`);
export const unknownCall = (key: string) => new BridgeError("not_found", `There is no call ${key} here.`);

/** A request without a chat that is neither a new message nor an answer. */
export const withoutChat = () =>
  new BridgeError("invalid", "A request without the id of a chat must have a new message or an answer.");

/** A new message has the id of a reply. */
export const takenMessageId = (id: string) =>
  new BridgeError("conflict", `The message id ${id} belongs to a reply of this chat; a new message needs another.`);

/** Another change came first. `approval` says how it stands. */
export class StateConflict extends BridgeError {
  /** The approval as it is now. */
  readonly approval: ApprovalView;
  constructor(message: string, approval: ApprovalView) {
    super("conflict", message);
    this.approval = approval;
  }
}
