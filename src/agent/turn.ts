import { isSettled } from "../protocol/index.ts";
import type { AppStore } from "../stores/app-store.ts";
import type { Approval } from "../stores/index.ts";
import { callInPage } from "./approval/call-in-page.ts";
import type { Executor } from "./approval/executor.ts";
import { dataApproval, isOpen, outcomeChunks } from "./approval/outcome.ts";
import type { Conversation, Conversations } from "./conversation/index.ts";
import { chatDeleted } from "./log/chat-deleted.ts";
import { type Progress, TurnLog } from "./log/turn-log.ts";
import { measureTurn, type TurnOutcome } from "./measure-turn.ts";
import { abortable, type DecisionsFirst, type Logger } from "./support/index.ts";
import { continuesElsewhere, type Turn, type TurnInput } from "./turn-input.ts";

/** What every turn needs. */
export interface TurnContext {
  store: AppStore;
  executor: Executor;
  conversations: Conversations;
  logger: Logger;
  /** How often one turn may ask the model. */
  maxLlmCalls: number;
  /** Names of the agents that are run as tools. */
  agentTools: ReadonlySet<string>;
  decisionsFirst: DecisionsFirst;
}

/** Turns after answers wait while other answers are being recorded. */
export function whenItMayBegin(
  { input, chat, signal }: Turn,
  { decisionsFirst }: Pick<TurnContext, "decisionsFirst">,
  run: () => Promise<void>,
): Promise<void> {
  return input.kind === "settled" ? decisionsFirst.run(chat.owner, run, signal) : run();
}

/** More events than any agent needs for one model request. */
const eventsPerRequest = 100;

/**
 * Runs a turn; read it from top to bottom. A decision enters where a message does: both are inputs of a turn. Whether the
 * model is talked to by requests or over a live connection is the conversation's business.
 */
export async function runTurn(turn: Turn, context: TurnContext): Promise<void> {
  const conversation = context.conversations.of(turn);
  // The connection may have closed since the model spoke.
  if (turn.input.kind === "speech" && !conversation.hasSpeech) return;
  await measureTurn(turn, () => converseInLog(turn, context, conversation));
}

async function converseInLog(turn: Turn, context: TurnContext, conversation: Conversation): Promise<TurnOutcome> {
  const { chat, input, id, reply, signal } = turn;
  const message = input.kind === "message" ? input.message : undefined;
  const log = new TurnLog({
    ...context,
    ...{ chat: chat.id, turn: id, reply, begun: turn.begun, modelName: conversation.modelName },
    origin: { mode: turn.mode, actor: turn.actor },
    isLeft: () => signal.reason === continuesElsewhere,
    owesReply: message !== undefined || input.kind === "again",
    message: input.kind === "message" && input.record ? message : undefined,
    maxEvents: context.maxLlmCalls * eventsPerRequest,
  });
  await log.begin();
  let failed = false;
  try {
    const progress = await converse(turn, context, conversation, log);
    const waits = progress === "parked" || (await hasWaitingCalls(turn, context));
    return await log.finish(waits ? "parked" : "done");
  } catch (error) {
    if (signal.reason === continuesElsewhere) return "left";
    failed = true;
    if (signal.reason === chatDeleted) {
      await log.fail(chatDeleted);
      return "deleted";
    }
    if (signal.aborted) {
      await stopAgents(turn, context, log);
      await log.abort();
      return "stopped";
    }
    await log.fail(error);
    return "failed";
  } finally {
    if (signal.reason !== continuesElsewhere) await log.end();
    // After the end, because readers need not wait for this. The next turn does.
    if (failed && signal.reason !== chatDeleted) await conversation.abandon(message);
  }
}

/** Shows what became of answered calls, gives the model what is new, and shows its response. */
async function converse(turn: Turn, context: TurnContext, conversation: Conversation, log: TurnLog): Promise<Progress> {
  const { input } = turn;
  try {
    if (input.kind === "message") {
      const ended = await conversation.say(input.message, log);
      for (const approval of ended) await log.write(dataApproval(approval));
    }
    if (input.kind === "again") {
      const next = await conversation.again(log);
      if (next !== "ask") return next;
    }
    if (input.kind === "settled") {
      await runAndShowCalls(input, turn, context, log);
      if (input.model === false) {
        await conversation.record();
        return "done";
      }
      const next = await conversation.deliver(log);
      if (next !== "ask") return next;
    }
    return await conversation.listen(log);
  } finally {
    conversation.leave();
  }
}

/** Runs what was approved, and shows what became of each answered call. */
async function runAndShowCalls(
  input: TurnInput & { kind: "settled" },
  { reply, signal }: Turn,
  { store, executor }: TurnContext,
  log: TurnLog,
): Promise<void> {
  const waiting: Approval[] = [];
  for (const id of input.approvals) {
    let approval = await store.getApproval(id);
    if (!approval) continue;
    const startsHere = !approval.external && (approval.state === "approved" || approval.state === "executing");
    const attempt = startsHere ? executor.execute(approval) : undefined;
    // The yes is shown before the outcome, also when the call has ended by now.
    const isAnswered = approval.decidedAt !== undefined && (startsHere || endedAtOnce(approval));
    await log.write([
      ...(isAnswered ? dataApproval({ ...approval, state: "approved", outcome: undefined }) : []),
      ...(startsHere ? dataApproval({ ...approval, state: "executing" }) : []),
    ]);
    if (attempt) approval = await abortable(attempt, signal);
    if (isOpen(approval)) waiting.push(approval);
    // Clients know only the calls of the message they are reading, so a call of an older one gets only a `data-approval`.
    else if (approval.messageId !== reply) await log.writeStep(dataApproval(approval));
    else if (approval.innerSession) await log.showInner(approval, input.answered?.get(id));
    else await log.write(outcomeChunks(approval, input.answered?.get(id)));
  }
  // A call that has begun has no outcome yet. It gets an AI SDK step of its own, or stock clients would send the answer
  // again.
  const inPage = (row: Approval) => (row.messageId === reply ? callInPage(row) : []);
  if (waiting.length > 0) await log.writeStep(waiting.flatMap((row) => [...dataApproval(row), ...inPage(row)]));
}

/**
 * True if the yes may not have been shown yet: the call did not wait for a report or a person, who come after it was shown.
 * The result of a browser tool may come with the yes.
 */
function endedAtOnce({ state, external, reportBy, resolvedBy }: Approval): boolean {
  const waited = resolvedBy !== undefined || (reportBy !== undefined && !external);
  return isSettled(state) && state !== "denied" && !waited;
}

/** True while calls that the turn's message shows have no outcome. */
async function hasWaitingCalls({ chat, reply }: Turn, { store }: TurnContext): Promise<boolean> {
  return (await store.listApprovals({ chat: chat.id, messageId: reply })).some(isOpen);
}

/** A stop ends the agents run as tools that work in this turn. One that waits for a person or a report goes on waiting. */
async function stopAgents({ chat, reply }: Turn, { store }: TurnContext, log: TurnLog): Promise<void> {
  for (const row of await store.listApprovals({ chat: chat.id, state: "approved" })) {
    if (row.innerSession === undefined || row.messageId !== reply) continue;
    const inner = await store.listApprovals({ session: row.innerSession });
    if (inner.some(({ state }) => state === "pending" || state === "waiting")) continue;
    const { applied, approval } = await store.move(row.id, { event: "cancel" });
    if (applied && approval) await log.showInner(approval);
  }
}
