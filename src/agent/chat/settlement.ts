import { type ApprovalData, type ApprovalView, type Decision, type Identity, isSettled } from "../../protocol/index.ts";
import type { Approval, LogEntry } from "../../stores/index.ts";
import type { Authorizer } from "../approval/authorizer.ts";
import { runsElsewhere } from "../approval/executor.ts";
import { approvalToView } from "../approval/outcome.ts";
import { readBackwards } from "../log/follow-log.ts";
import { atMost, describeError } from "../support/index.ts";
import type { TurnContext } from "../turn.ts";
import { matchesDecision } from "./answers.ts";
import type { ChatQueue, QueuedTurn } from "./chat-queue.ts";
import type { ChatTurns } from "./chat-turns.ts";
import { StateConflict, unknownApproval, unknownCall } from "./errors.ts";
import { isSameOutcome, type Report, type Resolution, reportToOutcome, resolutionToOutcome } from "./reports.ts";

export type DecisionResult =
  | { outcome: "accepted"; approval: ApprovalView }
  /** The same decision was made before. */
  | { outcome: "repeated"; approval: ApprovalView }
  /** Another answer, the clock or a cancellation came first. */
  | { outcome: "refused"; approval: ApprovalView };

export interface SettlementContext extends TurnContext {
  authorizer: Authorizer;
  /** How long looking for due approvals waits for tools that take their time. */
  graceMs: number;
}

/** What follows from a decision, a deadline or a crash: the call runs once, its row is settled, and a turn shows it. */
export class Settlement {
  readonly #context: SettlementContext;
  readonly #turns: ChatTurns;

  constructor(context: SettlementContext, turns: ChatTurns) {
    this.#context = context;
    this.#turns = turns;
    context.executor.subscribe((approval) => this.#showLate(approval));
  }

  /** One decision made outside a chat request. The server itself continues the conversation. */
  async decide(identity: Identity, decision: Decision & { key?: string }): Promise<DecisionResult> {
    this.#turns.refuseWhenClosed();
    const { store } = this.#context;
    const found = await store.getApproval(decision.approvalId);
    // Asked before the chat's queue is entered, so that a slow hook holds up only this decision.
    const isAllowed = found?.gated && (await this.#context.authorizer.allows(identity, found, decision));
    if (!isAllowed) throw unknownApproval(decision.approvalId);
    return this.#turns.inChat(found.chat, async (queue) => {
      const before = (await store.getApproval(found.id)) ?? found;
      const { moved, expired, approval } = await this.record(before, decision, identity.actor);
      if (moved || expired)
        await this.#turns.continue(queue, [approval], {
          reply: await this.#placeFor(approval.chat, approval.messageId),
        });
      const view = approvalToView(approval);
      if (moved) return { outcome: "accepted", approval: view };
      return { outcome: matchesDecision(approval, decision.approved) ? "repeated" : "refused", approval: view };
    });
  }

  /**
   * The result of a call that has begun, by the `idempotencyKey` that the tool was given. The same report may come again;
   * any other that comes too late is refused.
   */
  async settle(owner: string, key: string, report: Report): Promise<ApprovalView> {
    const { store, executor } = this.#context;
    this.#turns.refuseWhenClosed();
    const result = reportToOutcome(report);
    const found = (await store.getApproval(key)) ?? (await store.listApprovals({ owner, idempotencyKey: key }))[0];
    if (found?.owner !== owner || found.reportMs === undefined) throw unknownCall(key);
    return this.#turns.inChat(found.chat, async (queue) => {
      const before = (await store.getApproval(found.id)) ?? found;
      const { taken, approval } = await executor.report(before, result);
      // A report that came too late may be the first to notice that the time for it is over.
      if (approval.state !== before.state && isSettled(approval.state)) await this.#continue(queue, approval);
      if (taken || isSameOutcome(approval, result)) return approvalToView(approval);
      throw new StateConflict(
        `The call ${key} ${approval.state === "pending" ? "waits for approval" : `is ${approval.state}`}; this report was not taken.`,
        approvalToView(approval),
      );
    });
  }

  /** A person says what became of a call whose outcome was not known. Those who may approve a call may do so. */
  async resolve(identity: Identity, { approvalId, ...resolution }: Resolution): Promise<ApprovalView> {
    const { store, authorizer } = this.#context;
    this.#turns.refuseWhenClosed();
    const found = await store.getApproval(approvalId);
    const { reason } = resolution;
    const isAllowed = found?.gated && (await authorizer.allows(identity, found, { approved: true, reason }));
    if (!isAllowed) throw unknownApproval(approvalId);
    return this.#turns.inChat(found.chat, async (queue) => {
      const change = {
        ...resolutionToOutcome(resolution),
        by: identity.actor,
        ...(reason !== undefined && { reason }),
      };
      const before = (await store.getApproval(found.id)) ?? found;
      const isUnknown = before.state === "indeterminate";
      const { moved, approval = before } = isUnknown
        ? await store.move(found.id, change)
        : { moved: false, approval: before };
      if (!moved)
        throw new StateConflict(
          `Approval ${approvalId} is ${approval.state}; only an indeterminate one can be resolved.`,
          approvalToView(approval),
        );
      await this.#continue(queue, approval);
      return approvalToView(approval);
    });
  }

  async #continue(queue: ChatQueue, approval: Approval): Promise<void> {
    const { chat, messageId } = approval;
    await this.#turns.continue(queue, [approval], { reply: await this.#placeFor(chat, messageId) });
  }

  /** Records a decision in the ledger and starts an approved call. */
  async record(
    found: Approval,
    { approved, reason, key }: { approved: boolean; reason?: string; key?: string },
    by: string,
  ) {
    const {
      moved,
      applied,
      approval = found,
    } = await this.#context.store.move(found.id, {
      event: approved ? "approve" : "deny",
      by,
      reason,
      key,
    });
    // An answer that came too late may be the first to notice that the time of the row is over.
    const expired = !moved && applied !== undefined;
    if (!moved || approval.state !== "approved") return { moved, expired, approval };
    if (runsElsewhere(approval)) return { moved, expired, approval: await this.#context.executor.execute(approval) };
    // The tool starts here and does not wait for a turn.
    if (!approval.external) this.#execute(approval);
    return { moved, expired, approval };
  }

  /**
   * Expires rows, starts calls that were approved before a crash, settles lost claims, and continues the replies that a
   * crash interrupted. Does not wait for tools that take longer than a moment.
   */
  async settleDue(interrupted?: ReadonlyMap<string, string>): Promise<void> {
    const { store, logger, graceMs } = this.#context;
    const due = await store.dueApprovals();
    const byReply = new Map<string, Approval[]>();
    for (const row of due) byReply.set(row.messageId, [...(byReply.get(row.messageId) ?? []), row]);
    const replies = new Map([
      ...due.map(({ messageId, chat }) => [messageId, chat] as const),
      ...[...(interrupted ?? [])].map(([chat, reply]) => [reply, chat] as const),
    ]);
    const work = [...replies].map(async ([reply, chat]) => {
      const mine = byReply.get(reply) ?? [];
      const rows = await Promise.all(mine.map((row) => this.#settleDueRow(row, interrupted !== undefined)));
      const settled = rows.flatMap((row) => row ?? []);
      const again = interrupted?.get(chat) === reply;
      if (settled.length > 0 || again) await this.#show(chat, settled, { reply, model: again ? "again" : true });
    });
    const failed = (error: unknown) =>
      logger.error("A due approval could not be settled.", { error: describeError(error) });
    await atMost(graceMs, Promise.all(work.map((settling) => settling.catch(failed))));
  }

  #placeFor(chat: string, messageId: string): Promise<string> {
    return this.#context.conversations.placeFor(chat, messageId);
  }

  #execute(approval: Approval): void {
    this.#context.executor
      .execute(approval)
      // A call may outlive the turn it was answered in (new text, a stop). Its outcome is still shown.
      .then((settled) => this.#showOutcome(settled))
      .catch((error: unknown) => this.#logFailure(approval, error));
  }

  /** Shows an outcome that no turn waits for. */
  #showLate(approval: Approval): void {
    this.#showOutcome(approval).catch((error: unknown) => this.#logFailure(approval, error));
  }

  async #showOutcome(approval: Approval): Promise<void> {
    const { chat, messageId: reply, state } = approval;
    if (!isSettled(state)) return;
    await this.#show(chat, [approval], { reply, model: this.#context.conversations.isOpen(chat) });
  }

  #logFailure({ id }: Approval, error: unknown): void {
    if (this.#turns.isClosed) return;
    const fields = { approval: id, error: describeError(error) };
    this.#context.logger.error("An approved call could not be run or shown.", fields);
  }

  /** Shows outcomes of one message in a new turn, unless a turn that is queued or has run shows them. */
  async #show(
    chat: string,
    rows: readonly Approval[],
    { reply, model }: { reply: string; model: boolean | "again" },
  ): Promise<void> {
    const shows = ({ covers }: QueuedTurn) => rows.some(({ id }) => covers.has(id));
    if (this.#turns.isClosed) return;
    const covering = await this.#turns.inChat(chat, async (queue) => {
      const turn = queue.find(shows);
      if (turn) return turn;
      const unseen = await this.#unseen(chat, rows);
      const again = model === "again" && (await this.#context.conversations.mayAskUnattended(chat, reply));
      if (unseen.length > 0 || again)
        await this.#turns.continue(queue, unseen, { reply: await this.#placeFor(chat, reply), model });
      return undefined;
    });
    if (!covering) return;
    await covering.done.catch(() => undefined);
    await this.#show(chat, rows, { reply, model });
  }

  /** The rows whose outcome the log does not show. */
  async #unseen(chat: string, rows: readonly Approval[]): Promise<Approval[]> {
    let unseen = [...rows];
    for await (const entries of readBackwards(this.#context.store, chat)) {
      if (unseen.length === 0) return unseen;
      const shown = new Set(entries.flatMap(shownIn));
      unseen = unseen.filter((row) => !shown.has(outcomeKey(row)));
    }
    return unseen;
  }

  /** The row, if it is settled and may have to be shown: it was settled now, or before a crash. */
  async #settleDueRow(due: Approval, isStart: boolean): Promise<Approval | undefined> {
    const approval = await this.#moveDueRow(due);
    return isSettled(approval.state) && (isStart || approval.state !== due.state) ? approval : undefined;
  }

  async #moveDueRow(due: Approval): Promise<Approval> {
    const { store, executor } = this.#context;
    switch (due.state) {
      case "pending":
        return (await store.move(due.id, { event: "expire" })).approval ?? due;
      case "approved":
        if (due.startBy !== undefined && due.startBy <= store.now())
          return (await store.move(due.id, { event: "expire" })).approval ?? due;
        return due.innerSession === undefined ? executor.execute(due) : due;
      case "executing":
        return executor.recover(due);
      case "waiting":
        return (await store.move(due.id, { event: "lose" })).approval ?? due;
      default:
        return due;
    }
  }
}

/** Names an outcome: by the approval's id, or by the call's for calls that are not gated. */
function outcomeKey({ id, gated, toolCallId, state }: Approval): string {
  return gated ? `${id} ${state}` : `${toolCallId} ${state === "succeeded" ? "output" : "error"}`;
}

/** The outcomes that an entry shows. */
function shownIn(entry: LogEntry): string[] {
  if (entry.kind !== "chunk") return [];
  const { chunk } = entry;
  if (chunk.type === "tool-output-error") return [`${chunk.toolCallId} error`];
  if (chunk.type === "tool-output-available") return chunk.preliminary ? [] : [`${chunk.toolCallId} output`];
  if (chunk.type !== "data-approval") return [];
  const { approvalId, state } = chunk.data as ApprovalData;
  return [`${approvalId} ${state}`];
}
