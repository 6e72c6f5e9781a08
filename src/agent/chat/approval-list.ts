import { type ApprovalState, type ApprovalView, type Identity } from "../../protocol/index.ts";
import type { Approval, ListedApproval, Store } from "../../stores/index.ts";
import type { Authorizer } from "../approval/authorizer.ts";
import { approvalToView } from "../approval/outcome.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";

export interface ApprovalListFilter {
  /** Only those of this chat. */
  chat?: string | undefined;
  state?: ApprovalState | undefined;
  /** At most so many. Default 1,000. */
  limit?: number | undefined;
  /** Names the page, as the page before it says. */
  cursor?: string | undefined;
}

export interface ApprovalPage {
  approvals: ApprovalView[];
  /** Names the next page, if there is one. */
  cursor?: string;
}

/** How many waiting approvals a list of those that an actor may decide looks at, the newest first. */
const maxOthers = 500;
const defaultLimit = 1000;
/** Larger outputs are left out; the messages of the chat have them. The preview of a large output is smaller. */
const maxOutput = 16 * 1024;
/** A page ends early when it has so many characters. */
const maxPageSize = 4 * 1024 * 1024;
/** Rows are read in batches, and other requests come between them. */
const batchSize = 100;

/** The owner's approvals, oldest first. `chatId` is the session of the chat that the filter names. */
export async function listApprovals(
  { owner, actor }: Identity,
  { state, limit = defaultLimit, cursor }: ApprovalListFilter,
  chatId: string | undefined,
  { store, authorizer }: { store: Store; authorizer: Authorizer },
): Promise<ApprovalPage> {
  let after = cursor === undefined ? 0 : Number(decodeCursor(cursor, ["number"])[0]);
  const found: ListedApproval[] = [];
  let size = 0;
  let isEnd = false;
  while (found.length < limit && size < maxPageSize && !isEnd) {
    if (after > 0) await new Promise((resolve) => setImmediate(resolve));
    const wanted = Math.min(batchSize, limit - found.length);
    // One more than wanted, to know whether there are more.
    const batch = await store.approvalPage({ owner, chat: chatId, state }, { after, limit: wanted + 1, maxOutput });
    isEnd = batch.length <= wanted;
    for (const row of batch.slice(0, wanted)) {
      if (size >= maxPageSize) {
        isEnd = false;
        break;
      }
      after = row.position;
      // Calls that no one is asked about are not shown.
      if (!row.approval.gated) continue;
      found.push(row);
      size += sizeOf(row.approval);
    }
  }
  // Those of others have no place in the order of pages, so they are on the first one.
  const others =
    chatId === undefined && state === "pending" && cursor === undefined
      ? await decidableOfOthers(owner, actor, { store, authorizer })
      : [];
  const rows = [...found, ...others.map((approval): Omit<ListedApproval, "position"> => ({ approval }))];
  if (others.length > 0) rows.sort((one, other) => one.approval.createdAt - other.approval.createdAt);
  return { approvals: await toViews(rows, store), ...(!isEnd && { cursor: encodeCursor([after]) }) };
}

async function decidableOfOthers(
  owner: string,
  actor: string,
  { store, authorizer }: { store: Store; authorizer: Authorizer },
): Promise<Approval[]> {
  if (!authorizer.hasHook) return [];
  const pending = await store.listApprovals({ state: "pending", newest: maxOthers });
  return authorizer.decidable(
    actor,
    pending.filter((row) => row.owner !== owner && row.gated),
  );
}

async function toViews(rows: readonly Omit<ListedApproval, "position">[], store: Store): Promise<ApprovalView[]> {
  const names = new Map<string, string | undefined>();
  for (const { approval } of rows)
    if (!names.has(approval.chat)) names.set(approval.chat, (await store.getSession(approval.chat))?.name);
  return rows.map(({ approval, outputSize }) => {
    const chat = names.get(approval.chat);
    const { output, ...view } = approvalToView(approval);
    const result = outputSize === undefined ? { ...(output !== undefined && { output }) } : { outputSize };
    return { ...view, ...result, ...(chat !== undefined && { chat }) };
  });
}

/** About how long the row is as text. */
function sizeOf({ input, rawInput = "", interim }: Approval): number {
  return 1000 + input.length + rawInput.length + (interim ? JSON.stringify(interim).length : 0);
}
