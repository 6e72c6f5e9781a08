import { type ApprovalView, type Decision, type Identity, isNotFound, isSettled } from "../../protocol/index.ts";
import type { Approval } from "../../stores/index.ts";
import type { Authorizer } from "../approval/authorizer.ts";
import { runsElsewhere } from "../approval/executor.ts";
import { approvalToView } from "../approval/outcome.ts";
import { describeError } from "../support/index.ts";
import type { TurnContext } from "../turn.ts";
import { matchesDecision } from "./answers.ts";
import type { ChatQueue, QueuedTurn } from "./chat-queue.ts";
import type { ChatTurns } from "./chat-turns.ts";
import type { Relay } from "./relay.ts";
import { StateConflict, unknownApproval, unknownCall } from "./errors.ts";
import { isSameOutcome, type Report, type Resolution, reportToOutcome, resolutionToOutcome } from "./reports.ts";
import { markShownRows, unshownRows } from "./shown-outcomes.ts";

export type DecisionResult =
  | { outcome: "accepted"; approval: ApprovalView }
  /** The same decision was made before. */
  | { outcome: "repeated"; approval: ApprovalView }
  /** Another answer, the clock or a cancellation came first. */
  | { outcome: "refused"; approval: ApprovalView };

export interface SettlementContext extends TurnContext {
  authorizer: Authorizer;
  relay: Relay;
}

/** What follows from a decision, a report or a resolution: the call runs once, its row is settled, and a turn shows it. */
export class Settlement {
  readonly #context: SettlementContext;
  readonly #turns: ChatTurns;

  constructor(context: SettlementContext, turns: ChatTurns) {
    this.#context = context;
    this.#turns = turns;
    context.executor.subscribe((approval) => this.#showLate(approval));
    context.relay.handle("showOutcome", async ({ id }) => {
      const approval = await context.store.getApproval(String(id));
      if (approval) await this.#showOutcomeHere(approval);
    });
  }

  /** One decision made outside a chat request. The server itself continues the conversation. */
  async decide(identity: Identity, decision: Decision & { key?: string }): Promise<DecisionResult> {
    this.#turns.refuseWhenClosed();
    const { store } = this.#context;
    const found = await store.getApproval(decision.approvalId);
    // Asked before the chat's queue is entered, so that a slow hook holds up only this decision.
    const isAllowed = found?.gated && (await this.#context.authorizer.allows(identity, found, decision));
    if (!isAllowed) throw unknownApproval(decision.approvalId);
    const recorded = this.#context.decisionsFirst.enter();
    const result = this.#turns.inChat(found.chat, async (queue): Promise<DecisionResult> => {
      const { moved, expired, approval } = await this.record(found, decision, identity.actor, recorded);
      if (moved || expired || (await this.#isLeft(approval))) await this.#continue(queue, approval, true);
      const view = approvalToView(approval);
      if (moved) return { outcome: "accepted", approval: view };
      return { outcome: matchesDecision(approval, decision.approved) ? "repeated" : "refused", approval: view };
    });
    return result.finally(recorded);
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
      const changes = approval.state !== before.state && isSettled(approval.state);
      if (changes || (await this.#isLeft(approval))) await this.#continue(queue, approval);
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
    // A call that no one was asked about can be resolved too, if its result was to be reported.
    const isResolvable = found && (found.gated || found.reportMs !== undefined);
    const isAllowed = isResolvable && (await authorizer.allows(identity, found, { approved: true, reason }));
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
      await this.#continue(queue, approval, true);
      return approvalToView(approval);
    });
  }

  /**
   * True for an outcome that was recorded and that no turn shows: something failed in between, and the client tries again.
   */
  async #isLeft(approval: Approval): Promise<boolean> {
    const { chat, state, told, shown } = approval;
    if (!isSettled(state) || told || shown || this.#turns.covers(approval)) return false;
    return (await unshownRows(this.#context.store, chat, [approval])).length > 0;
  }

  async #continue(queue: ChatQueue, approval: Approval, attended = false): Promise<void> {
    const { chat, messageId } = approval;
    await this.#turns.continue(queue, [approval], { reply: await this.#placeFor(chat, messageId), attended });
  }

  /** Records a decision in the ledger, calls `recorded`, and starts an approved call. */
  async record(
    found: Approval,
    { approved, reason, key }: { approved: boolean; reason?: string; key?: string },
    by: string,
    recorded: () => void = () => undefined,
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
    recorded();
    // An answer that came too late may be the first to notice that the time of the row is over.
    const expired = !moved && applied !== undefined;
    if (!moved || approval.state !== "approved") return { moved, expired, approval };
    if (runsElsewhere(approval)) return { moved, expired, approval: await this.#context.executor.execute(approval) };
    // The tool starts here and does not wait for a turn.
    if (!approval.external) this.#execute(approval);
    return { moved, expired, approval };
  }

  #placeFor(chat: string, messageId: string): Promise<string> {
    return this.#context.conversations.placeFor(chat, messageId);
  }

  #execute(approval: Approval): void {
    const { executor, decisionsFirst } = this.#context;
    executor
      .execute(approval, { begin: (run) => decisionsFirst.run(approval.owner, run) })
      // A call may outlive the turn it was answered in (new text, a stop). Its outcome is still shown.
      .then((settled) => this.#showOutcome(settled))
      .catch((error: unknown) => this.#logFailure(approval, error));
  }

  /** Shows an outcome that no turn waits for. */
  #showLate(approval: Approval): void {
    this.#showOutcome(approval).catch((error: unknown) => this.#logFailure(approval, error));
  }

  /** A tool may end at a node that no longer has the chat. */
  async #showOutcome(approval: Approval): Promise<void> {
    if (!isSettled(approval.state)) return;
    await this.#context.relay.run(() => this.#showOutcomeHere(approval), {
      relayed: async () => ({ name: "showOutcome", body: { id: approval.id } }),
      receive: () => undefined,
    });
  }

  async #showOutcomeHere(approval: Approval): Promise<void> {
    const { chat, messageId: reply } = approval;
    await this.show(chat, [approval], { reply, model: this.#context.conversations.isOpen(chat) });
  }

  #logFailure({ id }: Approval, error: unknown): void {
    // The outcome of a call in a deleted chat is dropped.
    if (this.#turns.isClosed || isNotFound(error)) return;
    const fields = { approval: id, error: describeError(error) };
    this.#context.logger.error("An approved call could not be run or shown.", fields);
  }

  /**
   * Shows outcomes of one message in a new turn, unless a turn that is queued or has run shows them. Returns the new turn,
   * if there is one.
   */
  async show(
    chat: string,
    rows: readonly Approval[],
    { reply, model, actor }: { reply: string; model: boolean | "again"; actor?: string | undefined },
  ): Promise<QueuedTurn | undefined> {
    const shows = ({ covers }: QueuedTurn) => rows.some(({ id }) => covers.has(id));
    if (this.#turns.isClosed) return undefined;
    const { covering, shown } = await this.#turns.inChat(chat, async (queue) => {
      const turn = queue.find(shows);
      if (turn) return { covering: turn };
      const { store, conversations } = this.#context;
      const current = (await Promise.all(rows.map(({ id }) => store.getApproval(id)))).flatMap((row) => row ?? []);
      // Rows of a withdrawn part of the chat may be closed, and those of a reply that was made again are in another message.
      const unshown = await unshownRows(
        store,
        chat,
        current.filter((row) => !row.shown),
      );
      const again = model === "again" && (await conversations.mayAskUnattended(chat, reply));
      if (unshown.length === 0 && !again) {
        // A crash may have come between showing an outcome and telling the model.
        if (current.some((row) => !row.told)) await conversations.record(queue.chat);
        await markShownRows(
          store,
          chat,
          current.map(({ id }) => id),
        );
        return {};
      }
      const moved = current.find(({ id }) => rows.some((row) => row.id === id && row.messageId === reply));
      const place = await this.#placeFor(chat, moved?.messageId ?? reply);
      return { shown: await this.#turns.continue(queue, unshown, { reply: place, model, actor }) };
    });
    if (!covering) return shown;
    await covering.done.catch(() => undefined);
    return this.show(chat, rows, { reply, model, actor });
  }
}
