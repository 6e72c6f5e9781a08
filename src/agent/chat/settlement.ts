import { type ApprovalView, type Decision, isSettled } from "../../protocol/index.ts";
import type { Approval, JsonObject } from "../../stores/index.ts";
import { approvalToView } from "../approval/outcome.ts";
import { describeError } from "../support/index.ts";
import type { TurnContext } from "../turn.ts";
import { matchesDecision } from "./answers.ts";
import type { QueuedTurn } from "./chat-queue.ts";
import type { ChatTurns } from "./chat-turns.ts";
import { unknownApproval } from "./errors.ts";
import { unshownRows } from "./shown-outcomes.ts";

export type DecisionResult =
  | { outcome: "accepted"; approval: ApprovalView }
  /** The same decision was made before. */
  | { outcome: "repeated"; approval: ApprovalView }
  /** Another answer, the clock or a cancellation came first. */
  | { outcome: "refused"; approval: ApprovalView };

/** What follows from a decision or a report: the call runs once, its row is settled, and a turn shows it. */
export class Settlement {
  readonly #context: TurnContext;
  readonly #turns: ChatTurns;

  constructor(context: TurnContext, turns: ChatTurns) {
    this.#context = context;
    this.#turns = turns;
  }

  /** One decision made outside a chat request. The server itself continues the conversation. */
  async decide(owner: string, decision: Decision & { key?: string }): Promise<DecisionResult> {
    this.#turns.refuseWhenClosed();
    const { store } = this.#context;
    const found = await store.getApproval(decision.approvalId);
    if (!found || found.owner !== owner || !found.gated) throw unknownApproval(decision.approvalId);
    return this.#turns.inChat(found.chat, async (queue) => {
      const before = (await store.getApproval(found.id)) ?? found;
      const { moved, expired, approval } = await this.record(before, decision);
      if (moved || expired)
        await this.#turns.continue(queue, [approval], {
          reply: await this.#placeFor(approval.chat, approval.messageId),
          attended: true,
        });
      const view = approvalToView(approval);
      if (moved) return { outcome: "accepted", approval: view };
      return { outcome: matchesDecision(approval, decision.approved) ? "repeated" : "refused", approval: view };
    });
  }

  /** The result of a long-running tool, by the `idempotencyKey` that the tool was given. */
  async settle(owner: string, key: string, outcome: JsonObject): Promise<ApprovalView> {
    const { store, executor } = this.#context;
    const found = (await store.getApproval(key)) ?? (await store.listApprovals({ owner, idempotencyKey: key }))[0];
    const waits = found && found.innerSession === undefined && (found.external || found.decidedAt !== undefined);
    if (!waits || found.owner !== owner) throw unknownApproval(key);
    return this.#turns.inChat(found.chat, async (queue) => {
      const before = (await store.getApproval(found.id)) ?? found;
      const settled = await executor.settle(before, { event: "succeed", outcome });
      if (settled.state !== before.state)
        await this.#turns.continue(queue, [settled], { reply: await this.#placeFor(settled.chat, settled.messageId) });
      return approvalToView(settled);
    });
  }

  /** Records a decision in the ledger and starts an approved call. */
  async record(found: Approval, { approved, reason, key }: { approved: boolean; reason?: string; key?: string }) {
    const {
      moved,
      applied,
      approval = found,
    } = await this.#context.store.move(found.id, {
      event: approved ? "approve" : "deny",
      by: found.owner,
      reason,
      key,
    });
    // The tool starts here and does not wait for a turn.
    if (moved && approval.state === "approved" && !approval.external) this.#execute(approval);
    // An answer that came too late may be the first to notice that the row has expired.
    return { moved, expired: applied === "expire", approval };
  }

  #placeFor(chat: string, messageId: string): Promise<string> {
    return this.#context.conversations.placeFor(chat, messageId);
  }

  #execute(approval: Approval): void {
    const { executor, conversations, logger } = this.#context;
    executor
      .execute(approval)
      // A call may outlive the turn it was answered in (new text, a stop). Its outcome is still shown.
      .then(async (settled) => {
        if (!isSettled(settled.state)) return;
        const { chat, messageId: reply } = settled;
        await this.show(chat, [settled], { reply, model: conversations.isOpen(chat) });
      })
      .catch((error: unknown) =>
        logger.error("An approved call could not be run or shown.", {
          approval: approval.id,
          error: describeError(error),
        }),
      );
  }

  /**
   * Shows outcomes of one message in a new turn, unless a turn that is queued or has run shows them. Returns the new turn,
   * if there is one.
   */
  async show(
    chat: string,
    rows: readonly Approval[],
    { reply, model }: { reply: string; model: boolean | "again" },
  ): Promise<QueuedTurn | undefined> {
    const shows = ({ covers }: QueuedTurn) => rows.some(({ id }) => covers.has(id));
    if (this.#turns.isClosed) return undefined;
    const { covering, shown } = await this.#turns.inChat(chat, async (queue) => {
      const turn = queue.find(shows);
      if (turn) return { covering: turn };
      const unshown = await unshownRows(this.#context.store, chat, rows);
      const again = model === "again" && (await this.#context.conversations.mayAskUnattended(chat, reply));
      if (unshown.length === 0 && !again) return {};
      const place = await this.#placeFor(chat, reply);
      return { shown: await this.#turns.continue(queue, unshown, { reply: place, model }) };
    });
    if (!covering) return shown;
    await covering.done.catch(() => undefined);
    return this.show(chat, rows, { reply, model });
  }
}
