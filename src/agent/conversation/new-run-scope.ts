import { isSettled } from "../../protocol/index.ts";
import type { Approval, Session } from "../../stores/index.ts";
import type { RunScope } from "../adk/run-scope.ts";
import { approvalToResponse, outcomeChunks } from "../approval/outcome.ts";
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
  { store, executor }: ConversationContext,
  listener: () => Listener,
  runAgent: (approval: Approval, listener: Listener) => Promise<Approval | undefined>,
): RunScope {
  return {
    ...fixed,
    chat: id,
    owner,
    actor: () => listener().turn.actor,
    messageId: () => listener().turn.reply,
    isUnattended() {
      const { input } = listener().turn;
      return input.kind === "speech" || (input.kind === "settled" && input.unattended === true);
    },
    onBegin: () => undefined,
    async beforeEvent() {
      if (!fixed.refusesCalls()) await listener().log.flush();
    },
    async showInput(call) {
      await listener().log.write([{ type: "tool-input-available", ...call }]);
    },
    async showQuestion(approval) {
      const { turn, log } = listener();
      turn.signal.throwIfAborted();
      await log.showQuestion(approval);
    },
    async runHeld(approval) {
      const { turn, log } = listener();
      const isAgent = approval.innerSession !== undefined;
      const row = await (isAgent ? runAgent(approval, listener()) : executor.execute(approval));
      // The tool runs to its end, also when its turn was stopped meanwhile. Then another turn shows its outcome.
      if (row && !isAgent && turn.signal.aborted) executor.announce(row);
      const response = row && approvalToResponse(row);
      if (!response) return undefined;
      const isFinal = isSettled(row.state);
      if (isFinal) await store.markTold(row.id);
      else if (!turn.signal.aborted) await log.write(outcomeChunks(row, undefined));
      return { response, stateDelta: row.stateDelta ?? {}, actions: row.actions ?? {}, isFinal };
    },
    countUsage(event) {
      if (!fixed.refusesCalls()) listener().log.countUsage(event);
    },
  };
}
