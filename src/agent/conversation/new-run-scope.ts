import type { Approval, Session } from "../../stores/index.ts";
import type { RunScope } from "../adk/run-scope.ts";
import { approvalToResponse } from "../approval/outcome.ts";
import type { TurnLog } from "../log/turn-log.ts";
import type { Turn } from "../turn-input.ts";
import type { ConversationContext } from "./context.ts";

/** A turn, and the log it shows things in. */
export interface Listener {
  turn: Turn;
  log: TurnLog;
}

type Fixed = Pick<RunScope, "mode" | "freeResults" | "refusesCalls" | "beforeRequest">;

/** The half of a run's scope that both kinds of conversation share. `listener` throws when no turn listens. */
export function newRunScope(
  { id, owner }: Session,
  fixed: Fixed,
  { store }: ConversationContext,
  listener: () => Listener,
  runAgent: (approval: Approval, listener: Listener) => Promise<Approval | undefined>,
): RunScope {
  return {
    ...fixed,
    chat: id,
    owner,
    messageId: () => listener().turn.reply,
    isUnattended() {
      const { input } = listener().turn;
      return input.kind === "speech" || (input.kind === "settled" && input.unattended === true);
    },
    onBegin: () => undefined,
    async beforeEvent() {
      if (!fixed.refusesCalls()) await listener().log.flush();
    },
    async showQuestion(approval) {
      const { turn, log } = listener();
      turn.signal.throwIfAborted();
      await log.showQuestion(approval);
    },
    async runAgent(approval) {
      const settled = await runAgent(approval, listener());
      if (!settled) return undefined;
      await store.markTold(settled.id);
      return { response: approvalToResponse(settled) ?? {}, stateDelta: settled.stateDelta ?? {} };
    },
    countUsage(event) {
      if (!fixed.refusesCalls()) listener().log.countUsage(event);
    },
  };
}
