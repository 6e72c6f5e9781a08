import { createEvent, getFunctionResponses } from "@google/adk";
import { isSettled } from "../protocol/index.ts";
import { AlreadyAnswered, type Approval, type Session, type Store } from "../stores/index.ts";
import { atMost } from "./at-most.ts";
import type { Executor } from "./executor.ts";
import { keptResults, openCalls, responseEvent, unknownCalls } from "./history.ts";
import { approvalToResponse, interruptedResponse, lateNote, runningResponse } from "./outcome.ts";
import type { StoreSessionService } from "./session-service.ts";

/** What it takes to put a session's history right. */
export interface HistoryTools {
  store: Store;
  executor: Executor;
  sessions: StoreSessionService;
  /** How long new text waits for a tool that is still running before the model is told that its outcome is not known. */
  graceMs: number;
}

/**
 * Before new text, every call in the history gets its response: what the ledger knows, what was kept, or that it was
 * cancelled. Returns the rows this cancelled.
 */
export async function heal(session: Session, tools: HistoryTools): Promise<Approval[]> {
  const { store } = tools;
  const events = (await tools.sessions.load(session)).events;
  const kept = keptResults(events);
  const rows = new Map((await store.listApprovals({ session: session.id })).map((row) => [row.toolCallId, row]));
  const cancelled: Approval[] = [];
  for (const open of openCalls(events)) {
    const asked = rows.get(open.call.id);
    const left = asked && (await leaveBehind(asked, tools));
    cancelled.push(...(left?.cancelled ?? []));
    const response = left ? left.response : (kept.get(open.call.id) ?? interruptedResponse);
    const event = responseEvent(open, response, { unknown: left?.unknown ?? [], stateDelta: left?.row.stateDelta });
    try {
      await tools.sessions.appendEvent({ session: await tools.sessions.load(session), event });
    } catch (error) {
      if (!(error instanceof AlreadyAnswered)) throw error;
    }
    for (const row of left?.told ?? []) await store.markTold(row.id);
  }
  return cancelled;
}

/**
 * Ends a call that new text leaves behind: what nobody has started is cancelled, what runs gets a moment to end. What an
 * agent run as a tool has done by then stands, so the model is told of it, and later of what is still `unknown`.
 */
async function leaveBehind(asked: Approval, { store, executor, graceMs }: HistoryTools) {
  const cancellable = asked.state === "pending" || (asked.state === "approved" && asked.external);
  const cancelled = cancellable ? await cancel(asked, store) : [];
  const family = await withInner(asked, store);
  const attempts = family.flatMap(({ id }) => executor.attempt(id) ?? []);
  if (attempts.length > 0) await atMost(graceMs, Promise.allSettled(attempts));
  const row = (await store.getApproval(asked.id)) ?? asked;
  return { row, cancelled, ...(await tellable(row, store)) };
}

/**
 * What the model is told of a row. Of an agent run as a tool that did not come to its end also what it had done until
 * then, for that stands. `told` are the rows this tells of, `unknown` the calls of which more must be told later.
 */
export async function tellable(row: Approval, store: Store) {
  const family = await withInner(row, store);
  const effects = family.filter(
    ({ id, state, innerSession }) =>
      id !== row.id && innerSession === undefined && state !== "denied" && state !== "cancelled" && state !== "expired",
  );
  const calls = effects.map(({ toolName, input, state, outcome }) => ({
    name: toolName,
    args: JSON.parse(input) as unknown,
    state,
    response: outcome,
  }));
  return {
    response: {
      ...(approvalToResponse(row) ?? runningResponse),
      ...(row.state !== "succeeded" && calls.length > 0 && { calls }),
    },
    unknown: family.filter(({ state }) => !isSettled(state)).map(({ toolCallId }) => toolCallId),
    told: family.filter(({ state }) => isSettled(state)),
  };
}

/** A row as it is now, and with an agent run as a tool those of its calls, and of theirs. */
async function withInner({ id }: Approval, store: Store): Promise<Approval[]> {
  const row = await store.getApproval(id);
  if (!row?.innerSession) return row ? [row] : [];
  const inner = await store.listApprovals({ session: row.innerSession });
  return [row, ...(await Promise.all(inner.map((call) => withInner(call, store)))).flat()];
}

/** Cancels a call, and with an agent run as a tool everything it waits for. */
export async function cancel(approval: Approval, store: Store): Promise<Approval[]> {
  const inner = approval.innerSession ? await store.listApprovals({ session: approval.innerSession }) : [];
  const cancelled = (await Promise.all(inner.map((row) => cancel(row, store)))).flat();
  // A row past its time expires instead, and is shown and told like a cancelled one.
  const { applied, approval: row } = await store.move(approval.id, { event: "cancel" });
  return applied && row ? [...cancelled, row] : cancelled;
}

/**
 * Outcomes that came after the model was told "not known yet" are told as context, once: the note's id is the row's, so
 * that a crash between the note and its mark does not write a second one.
 */
export async function tellLateOutcomes(session: Session, tools: HistoryTools): Promise<void> {
  const { store } = tools;
  const rows = await store.listApprovals({ chat: session.id });
  const late = rows.filter((row) => isSettled(row.state) && !row.told);
  if (late.length === 0) return;
  const events = (await tools.sessions.load(session)).events;
  const unknown = unknownCalls(events);
  const answered = new Set(events.flatMap((event) => getFunctionResponses(event).map(({ id }) => id)));
  for (const row of late) {
    if (unknown.has(row.toolCallId)) {
      const content = { role: "user", parts: [{ text: lateNote(row) }] };
      const event = createEvent({ id: `late-${row.id}`, author: "user", content });
      await tools.sessions.appendEvent({ session: await tools.sessions.load(session), event });
    } else if (!answered.has(callInChat(row, rows).toolCallId)) continue;
    await store.markTold(row.id);
  }
}

/** The call of the chat itself that a row belongs to: its own, or that of the agent it was made by. */
function callInChat(row: Approval, rows: readonly Approval[]): Approval {
  const caller = rows.find(({ innerSession }) => innerSession === row.session);
  return caller ? callInChat(caller, rows) : row;
}
