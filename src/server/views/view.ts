import type { UIMessageChunk } from "ai";
import type { ApprovalView } from "../../protocol/index.ts";

/** Turns each chunk of one turn, in order, into the chunks that one reader gets for it. Made anew for every turn. */
export type View = (chunk: UIMessageChunk) => Promise<UIMessageChunk[]>;

/** Finds an approval of the reader's owner. */
export type FindApproval = (approvalId: string) => Promise<ApprovalView | undefined>;
