import { isSettled } from "../../protocol/index.ts";
import type { Approval, Store } from "../../stores/index.ts";
import { approvalToResponse, runningResponse } from "./outcome.ts";

/**
 * Rows belong together when an agent is run as a tool: the row of that call, the rows of the calls the agent makes, and so
 * on. Functions over the rows of a chat, and the one that cancels such a family.
 */

/** A row and, for an agent run as a tool, the rows of its calls and of theirs. */
export function familyOf(row: Approval, rows: readonly Approval[]): Approval[] {
  if (row.innerSession === undefined) return [row];
  return [row, ...rows.filter(({ session }) => session === row.innerSession).flatMap((inner) => familyOf(inner, rows))];
}

/** Rows with everything that belongs to them: the rows of the calls that agents made, and the calls of those agents. */
export async function withFamilies(rows: readonly Approval[], store: Store): Promise<Approval[]> {
  const found = new Map(rows.map((row) => [row.id, row]));
  // A map can be added to while it is read; what was added comes next.
  for (const { chat, session, innerSession } of found.values()) {
    const inner = innerSession === undefined ? [] : await store.listApprovals({ session: innerSession });
    const callers = session === chat ? [] : await store.listApprovals({ chat, innerSession: session });
    for (const row of [...inner, ...callers]) if (!found.has(row.id)) found.set(row.id, row);
  }
  return [...found.values()];
}

/** The row of the call in `session` that a row works for: itself, or that of the agent that made it. */
export function callInSession(row: Approval, session: string, rows: readonly Approval[]): Approval | undefined {
  if (row.session === session) return row;
  const caller = rows.find(({ innerSession }) => innerSession === row.session);
  return caller && callInSession(caller, session, rows);
}

/**
 * What the model is told about a row now. If an agent run as a tool did not finish, this includes what it had done until
 * then, because those effects remain. If it has finished, it includes what was reported of its calls since, because the
 * agent itself does not know that.
 */
export function tellable(row: Approval, rows: readonly Approval[]) {
  const family = familyOf(row, rows);
  const effects = family.filter(
    ({ id, state, innerSession }) =>
      id !== row.id && innerSession === undefined && state !== "denied" && state !== "cancelled" && state !== "expired",
  );
  const isNews = ({ state, told }: Approval) => isSettled(state) && !told;
  const calls = (row.state === "succeeded" ? effects.filter(isNews) : effects).map(
    ({ toolName, input, state, outcome }) => ({
      name: toolName,
      args: JSON.parse(input) as unknown,
      state,
      response: outcome,
    }),
  );
  return {
    response: {
      ...(approvalToResponse(row) ?? runningResponse),
      ...(calls.length > 0 && { calls }),
    },
    /** Ids of the rows that this tells about. */
    tells: family.filter(({ state }) => isSettled(state)).map(({ id }) => id),
    /** Calls whose outcome must be told later: it is not known yet, or a person may still find it out. */
    unknown: family
      .filter(({ state }) => !isSettled(state) || state === "indeterminate")
      .map(({ toolCallId }) => toolCallId),
  };
}

/**
 * R16: true for a call of which a person may have been told that it runs. Approved, it is not cancelled any more. Where a
 * call runs that is external is another matter: a browser tool begins with the yes, and an agent ends with its reply.
 */
function yesCounts({ gated, external }: Approval): boolean {
  return gated && !external;
}

/** True for a call that a person has approved and that starts in a moment, whatever happens in the chat. */
export function willRun(row: Approval): boolean {
  return row.state === "approved" && yesCounts(row);
}

/**
 * Cancels a call and, for an agent run as a tool, everything it waits for. What a person has approved goes on. Returns the
 * rows this ended.
 */
export async function cancelFamily(approval: Approval, store: Store, reason?: string): Promise<Approval[]> {
  const inner = approval.innerSession ? await store.listApprovals({ session: approval.innerSession }) : [];
  const cancelled = (await Promise.all(inner.map((row) => cancelFamily(row, store)))).flat();
  const change = {
    event: "cancel",
    unlessApproved: yesCounts(approval),
    ...(reason !== undefined && { reason }),
  } as const;
  // `applied` is also true for a row past its time, which expires instead. It is shown and told like a cancelled one.
  const { applied, approval: row } = await store.move(approval.id, change);
  return applied && row ? [...cancelled, row] : cancelled;
}
