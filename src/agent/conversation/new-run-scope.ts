import { isSettled } from "../../protocol/index.ts";
import { type Approval, NotOwner, type Session } from "../../stores/index.ts";
import { addMetadata } from "../adk/event-metadata.ts";
import type { RunScope } from "../adk/run-scope.ts";
import { tellable, withFamilies } from "../approval/family.ts";
import { isOpen, outcomeChunks } from "../approval/outcome.ts";
import type { TurnLog } from "../log/turn-log.ts";
import { describeError } from "../support/index.ts";
import { continuesElsewhere, type Turn } from "../turn-input.ts";
import { markTold } from "./apply-plan.ts";
import type { ConversationContext } from "./context.ts";

/** A turn, and the log it shows things in. */
export interface Listener {
  turn: Turn;
  log: TurnLog;
}

type Fixed = Pick<RunScope, "mode" | "freeResults" | "refusesCalls" | "beforeRequest">;

/** The half of a run's scope that both kinds of conversation share. `listening` throws when no turn listens. */
export function newRunScope(
  { id, owner }: Session,
  fixed: Fixed,
  { store, executor, files, logger, hasChat }: ConversationContext,
  listening: () => Listener,
  runAgent: (approval: Approval, listener: Listener) => Promise<Approval | undefined>,
): RunScope {
  let last: Listener | undefined;
  const listener = () => {
    const found = listening();
    last = found;
    return found;
  };
  return {
    ...fixed,
    // A process that was paused goes on where it was, and another node may have run the call since.
    refusesCalls: () => fixed.refusesCalls() || !hasChat(id),
    isLeft(error) {
      // No node goes on with a turn that has ended here, although its chat may have been given back since.
      if (last?.log.hasEnded) return false;
      return error instanceof NotOwner || last?.turn.signal.reason === continuesElsewhere || !hasChat(id);
    },
    chat: id,
    owner,
    actor: () => listener().turn.actor,
    messageId: () => listener().turn.reply,
    isUnattended() {
      const { input } = listener().turn;
      return input.kind === "speech" || (input.kind === "settled" && input.unattended === true);
    },
    onBegin: () => undefined,
    async beforeEvent(event) {
      if (fixed.refusesCalls()) return;
      const { turn, log } = listener();
      addMetadata(event, { reply: turn.reply });
      await log.flush();
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
      const shown = await (isAgent ? runAgent(approval, listener()) : executor.execute(approval, { isJudged: true }));
      const [row] = shown ? await files.withWholeOutcomes([shown]) : [];
      // The tool runs to its end, also when its turn was stopped meanwhile. Then another turn shows its outcome.
      if (row && !isAgent && turn.signal.aborted) executor.announce(row);
      if (!row || isOpen(row)) return undefined;
      if (!isSettled(row.state) && !turn.signal.aborted) await log.write(outcomeChunks(shown ?? row, undefined));
      const rows = isAgent ? await files.withWholeOutcomes(await withFamilies([row], store)) : [row];
      const { response, tells, unknown } = tellable(row, rows);
      // The tool has run. A row that could not be marked is marked when the history is brought up to date.
      await markTold(tells, rows, store).catch((error: unknown) =>
        logger.error("An outcome could not be marked as told.", { approval: row.id, error: describeError(error) }),
      );
      return { response, stateDelta: row.stateDelta ?? {}, actions: row.actions ?? {}, unknown };
    },
    fillIn: (contents) => files.fillIn(contents, id),
    countUsage(event) {
      if (!fixed.refusesCalls()) listener().log.countUsage(event);
    },
  };
}
