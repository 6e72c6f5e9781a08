import type { Identity } from "../../protocol/index.ts";
import type { Approval, Session, Store } from "../../stores/index.ts";
import type { Authorizer } from "../approval/authorizer.ts";
import type { Answer } from "./answers.ts";

/**
 * Asks whether the actor of a chat request may give the answers in it. Returns which rows exist for the request: a row
 * that the actor may not decide is left out, so that its answer is refused like one to a missing approval, and with it the
 * whole request.
 *
 * Only open questions are asked about. An answer to a decided one changes nothing, and clients repeat the answers that
 * other people gave: those come with the messages of the server.
 */
export async function permittedAnswers(
  answers: readonly Answer[],
  identity: Identity,
  chat: Session,
  { store, authorizer }: { store: Store; authorizer: Authorizer },
): Promise<(row: Approval) => boolean> {
  // The chat belongs to the owner, and without a hook every actor of the owner may decide.
  if (!authorizer.hasHook) return () => true;
  const decisions = answers.filter(({ approved }) => approved !== undefined);
  if (decisions.length === 0) return () => true;
  const open = await store.listApprovals({ chat: chat.id, state: "pending" });
  const permitted = await Promise.all(
    open.map(async (row) => {
      const about = decisions.filter(({ id }) => id === row.id || id === row.toolCallId);
      // Both ways in one request are refused later; here the last one stands for all.
      const { approved, reason } = about.at(-1) ?? {};
      if (approved === undefined) return row.id;
      return (await authorizer.allows(identity, row, { approved, reason })) ? row.id : undefined;
    }),
  );
  const known = new Set(permitted);
  const decided = new Set(decisions.map(({ id }) => id));
  // A call that was held while the hook was asked was not asked about, so it cannot be decided by this request.
  return (row) =>
    row.state !== "pending" || known.has(row.id) || (!decided.has(row.id) && !decided.has(row.toolCallId));
}
