import type { UIMessage } from "ai";
import type { Bridge } from "../../agent/index.ts";
import { chunksInDialect, type Confirmation } from "./dialect.ts";
import { unansweredAsDenied } from "./unanswered-as-denied.ts";
import type { View } from "./view.ts";
import { withChatId } from "./with-chat-id.ts";
import { withReplay } from "./with-replay.ts";

export interface ViewOptions {
  bridge: Pick<Bridge, "approval">;
  owner: string;
  confirmation: Confirmation;
  /** The message that the turn continues, as it was before the turn, for a reader that does not have it. */
  replay?: UIMessage | undefined;
  /**
   * True for readers that are AI SDK 7, which has a chunk for a decision. They are told of decisions made elsewhere, and
   * that a question was closed without an answer.
   */
  knowsDecisions?: boolean;
  /** In the second dialect: the confirmations that the reader has and that get their outcomes, see `chunksInDialect`. */
  asked?: Set<string> | undefined;
  /** The id of the chat, for a reader that has sent none. */
  chatId?: string | undefined;
}

/** The view of one turn for one reader. */
export function viewOf({
  bridge,
  owner,
  confirmation,
  replay,
  knowsDecisions = false,
  chatId,
  asked,
}: ViewOptions): View {
  const findApproval = (id: string) => bridge.approval(owner, id);
  const inDialect = chunksInDialect(confirmation, findApproval, asked);
  // The second dialect closes such a question itself, with chunks that every AI SDK knows.
  const closed =
    knowsDecisions && confirmation === "approval" ? unansweredAsDenied(inDialect, findApproval, replay) : inDialect;
  return withChatId(withReplay(closed, replay, { knowsDecisions }), chatId);
}
