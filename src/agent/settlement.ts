import { type ApprovalData, isSettled } from "../protocol/index.ts";
import type { Approval, LogEntry } from "../stores/index.ts";
import { atMost } from "./at-most.ts";
import type { QueuedTurn } from "./chat-queue.ts";
import type { ChatTurns } from "./chat-turns.ts";
import { readBackwards } from "./follow-log.ts";
import { describeError } from "./logger.ts";
import type { Stage } from "./turn.ts";

/** What follows from a decision, a deadline or a crash: the call runs once, its row is settled, and a turn shows it. */
export class Settlement {
  readonly #stage: Stage;
  readonly #turns: ChatTurns;

  constructor(stage: Stage, turns: ChatTurns) {
    this.#stage = stage;
    this.#turns = turns;
  }

  async decide(found: Approval, { approved, reason, key }: { approved: boolean; reason?: string; key?: string }) {
    const {
      moved,
      applied,
      approval = found,
    } = await this.#stage.store.move(found.id, {
      event: approved ? "approve" : "deny",
      by: found.owner,
      reason,
      key,
    });
    // The tool starts here and not when a turn comes round to it: nothing stands between the click and the call.
    if (moved && approval.state === "approved" && !approval.external) this.#execute(approval);
    // An answer that came too late may be the first to notice.
    return { moved, expired: applied === "expire", approval };
  }

  #execute(approval: Approval): void {
    this.#stage.executor
      .execute(approval)
      // A call that outlived the turn it was answered in (new text, a stop) still shows its outcome.
      .then(async (settled) => {
        if (isSettled(settled.state))
          await this.show(settled.chat, [settled], {
            reply: settled.messageId,
            model: this.#stage.live.has(settled.chat),
          });
      })
      .catch((error: unknown) =>
        this.#stage.logger.error("An approved call could not be run or shown.", {
          approval: approval.id,
          error: describeError(error),
        }),
      );
  }

  /** Shows outcomes of one message in a turn of their own, unless the turn that was to show them did. */
  async show(
    chat: string,
    rows: readonly Approval[],
    { reply, model }: { reply: string; model: boolean | "nudge" },
  ): Promise<void> {
    const shows = ({ covers }: QueuedTurn) => rows.some(({ id }) => covers.has(id));
    if (this.#turns.isClosed) return;
    const covering = await this.#turns.inChat(chat, async (queue) => {
      const turn = queue.find(shows);
      if (turn) return turn;
      const unseen = await this.#unseen(chat, rows);
      // A live model is not asked again by itself; it finds the outcome in its history.
      const nudges = model === "nudge" && !(await this.#turns.isAskedLive(chat, reply));
      if (unseen.length > 0 || nudges)
        await this.#turns.continue(queue, unseen, { reply: await this.#turns.placeFor(chat, reply), model });
      return undefined;
    });
    if (!covering) return;
    await covering.done.catch(() => undefined);
    await this.show(chat, rows, { reply, model });
  }

  /** The rows whose outcome the log does not show. */
  async #unseen(chat: string, rows: readonly Approval[]): Promise<Approval[]> {
    let unseen = [...rows];
    for await (const entries of readBackwards(this.#stage.store, chat)) {
      if (unseen.length === 0) return unseen;
      const shown = new Set(entries.flatMap(shownIn));
      unseen = unseen.filter(({ id, gated, toolCallId }) => !shown.has(gated ? id : toolCallId));
    }
    return unseen;
  }

  /**
   * What nobody else will do: expire, start what was approved before a crash, take over or give up lost claims, and go on
   * with the replies that a crash `interrupted`. Tools that take their time go on behind it.
   */
  async settleDue(interrupted?: ReadonlyMap<string, string>): Promise<void> {
    const due = await this.#stage.store.dueApprovals();
    const byReply = new Map<string, Approval[]>();
    for (const row of due) byReply.set(row.messageId, [...(byReply.get(row.messageId) ?? []), row]);
    const replies = new Map([
      ...due.map(({ messageId, chat }) => [messageId, chat] as const),
      ...[...(interrupted ?? [])].map(([chat, reply]) => [reply, chat] as const),
    ]);
    const work = [...replies].map(async ([reply, chat]) => {
      const mine = byReply.get(reply) ?? [];
      const rows = await Promise.all(mine.map((row) => this.#settleOne(row, interrupted !== undefined)));
      const settled = rows.flatMap((row) => row ?? []);
      const again = interrupted?.get(chat) === reply;
      if (settled.length > 0 || again) await this.show(chat, settled, { reply, model: again ? "nudge" : true });
    });
    const failed = (error: unknown) =>
      this.#stage.logger.error("A due approval could not be settled.", { error: describeError(error) });
    await atMost(this.#stage.graceMs, Promise.all(work.map((settling) => settling.catch(failed))));
  }

  /** The row when it is settled and there may be something to show: it has just been, or the last process had no time to. */
  async #settleOne(due: Approval, isStart: boolean): Promise<Approval | undefined> {
    const approval = await this.#move(due);
    return isSettled(approval.state) && (isStart || approval.state !== due.state) ? approval : undefined;
  }

  async #move(due: Approval): Promise<Approval> {
    const now = this.#stage.store.now();
    switch (due.state) {
      case "pending":
        return (await this.#stage.store.move(due.id, { event: "expire" })).approval ?? due;
      case "approved":
        if (due.startBy !== undefined && due.startBy <= now)
          return (await this.#stage.store.move(due.id, { event: "expire" })).approval ?? due;
        return due.external ? due : this.#stage.executor.execute(due);
      case "executing":
        return this.#stage.executor.recover(due);
      default:
        return due;
    }
  }
}

/** Whose outcome an entry shows: the approval's id, or the call's where nobody was asked. */
function shownIn(entry: LogEntry): string[] {
  if (entry.kind !== "chunk") return [];
  const { chunk } = entry;
  if (chunk.type === "tool-output-available" || chunk.type === "tool-output-error") return [chunk.toolCallId];
  if (chunk.type !== "data-approval") return [];
  const { approvalId, state } = chunk.data as ApprovalData;
  return isSettled(state) ? [approvalId] : [];
}
