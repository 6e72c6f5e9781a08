import type { UIMessage } from "ai";
import { isSettled } from "../protocol/index.ts";
import type { Approval } from "../stores/index.ts";
import { abortable } from "./abortable.ts";
import { heal, tellLateOutcomes } from "./heal.ts";
import type { LiveSessions } from "./live-sessions.ts";
import { isOf, messageToContent, messageToEvent } from "./message-to-content.ts";
import { dataApproval, outcomeChunks } from "./outcome.ts";
import { advance, run, settleAgents } from "./request-run.ts";
import { serverCloses, type Turn, type TurnInput, type TurnTools } from "./turn-input.ts";
import { type Progress, TurnLog } from "./turn-log.ts";

/** What it takes to run a turn in either mode. */
export interface Stage extends TurnTools {
  live: LiveSessions;
}

/** More than an agent needs that asks its model as often as it may. */
const eventsPerCall = 100;

/**
 * Runs a turn; read it from top to bottom. Resuming is not a second path: a decision enters where a message does. And the
 * two modes are not two paths either: they differ in how the model is talked to, `request` or `converse`, and in nothing
 * that anybody sees.
 */
export async function runTurn(turn: Turn, tools: Stage): Promise<void> {
  const { chat, input, id, reply } = turn;
  // The model may have fallen silent, or its connection ended, before this turn's time came.
  if (input.kind === "speech" && !tools.live.get(chat.id)?.hasSpeech) return;
  const isMessage = input.kind === "message";
  const message = isMessage && input.record ? input.message : undefined;
  const modelName = (turn.live ? tools.live.model : undefined) ?? tools.modelName;
  const maxEvents = tools.maxLlmCalls * eventsPerCall;
  const log = new TurnLog({
    ...tools,
    ...{ modelName, maxEvents, chat: chat.id, turn: id, reply, message, owesAnswer: isMessage },
  });
  await log.begin();
  let isUnheard = false;
  try {
    const progress = await (turn.live ? converse(turn, tools, log) : request(turn, tools, log));
    await log.finish(progress === "done" && (await isWaiting(turn, tools)) ? "parked" : progress);
  } catch (error) {
    if (turn.signal.reason === serverCloses) return;
    isUnheard = isMessage;
    if (turn.signal.aborted) {
      await stopAgents(turn, tools, log);
      await log.abort();
    } else await log.fail(error);
  } finally {
    if (turn.signal.reason !== serverCloses) await log.end();
    // Whoever reads need not wait for this; whatever runs next does.
    if (isMessage && isUnheard) await keep(input.message, turn, tools);
    tools.live.rest(chat);
  }
}

/** One request after another: text ends what waits, and outcomes go to the model when the whole step has them. */
async function request(turn: Turn, tools: Stage, log: TurnLog): Promise<Progress> {
  const { chat, input } = turn;
  const asksModel = input.kind !== "settled" || input.model !== false;
  // One of the two speaks for the agent at a time.
  if (asksModel) await tools.live.close(chat.id);
  if (input.kind === "message") {
    for (const approval of await heal(chat, tools)) await log.write(dataApproval(approval));
    await tellLateOutcomes(chat, tools);
    return run(chat, messageToContent(input.message), turn, tools, log, { message: input.message.id });
  }
  if (input.kind === "settled") await showOutcomes(input, turn, tools, log);
  await tellLateOutcomes(chat, tools);
  return asksModel ? advance(chat, turn, tools, log) : "done";
}

/** Over one connection that stays open: text ends nothing, and each outcome goes to the model by itself. */
async function converse(turn: Turn, tools: Stage, log: TurnLog): Promise<Progress> {
  const { chat, input } = turn;
  if (input.kind === "settled") {
    await showOutcomes(input, turn, tools, log);
    await settleAgents(chat, turn, tools, log);
    if (input.model === false) return "done";
    // Whoever waits for the outcome gets it before the model does.
    await new Promise((resolve) => setImmediate(resolve));
  }
  // Whoever writes interrupts what the model has begun to say unasked, and nobody has seen anything of that yet.
  if (input.kind === "message" && tools.live.get(chat.id)?.hasSpeech) await tools.live.close(chat.id);
  const session = await tools.live.open(turn, tools);
  const leave = session.enter({ turn, log });
  try {
    if (input.kind === "message") await session.say(input.message);
    else if (input.kind === "settled" && !(await session.tell())) return "done";
    return await session.listen({ turn, log });
  } finally {
    leave();
  }
}

/** What a person said is part of the conversation, also where the model was not reached or something newer came first. */
async function keep(message: UIMessage, { chat }: Turn, { sessions, live }: Stage): Promise<void> {
  const connection = live.get(chat.id);
  if (connection) return connection.keep(message);
  const session = await sessions.load(chat);
  if (!session.events.some((event) => isOf(event, message)))
    await sessions.appendEvent({ session, event: messageToEvent(message) });
}

/** True while calls shown in the turn's message have no outcome. */
async function isWaiting({ chat, reply }: Turn, { store }: Stage): Promise<boolean> {
  const rows = await store.listApprovals({ chat: chat.id });
  return rows.some(({ messageId, state }) => messageId === reply && !isSettled(state));
}

/** Executes what was approved, and shows what became of each answered call. */
async function showOutcomes(
  input: TurnInput & { kind: "settled" },
  { reply, signal }: Turn,
  tools: Stage,
  log: TurnLog,
): Promise<void> {
  const waiting: Approval[] = [];
  for (const id of input.approvals) {
    let approval = await tools.store.getApproval(id);
    if (!approval) continue;
    const waits = approval.external && approval.state === "approved";
    if (approval.decidedAt !== undefined && approval.state !== "denied" && !waits)
      await log.write(dataApproval({ ...approval, state: "approved", outcome: undefined }));
    if (!approval.external && (approval.state === "approved" || approval.state === "executing")) {
      const attempt = tools.executor.attempt(id) ?? tools.executor.execute(approval);
      await log.write(dataApproval({ ...approval, state: "executing" }));
      approval = await abortable(attempt, signal);
    }
    if (!isSettled(approval.state)) waiting.push(approval);
    // A message of its own about a call in an older one: a chat knows only the calls of the message it is reading.
    else if (approval.messageId !== reply) await log.writeStep(dataApproval(approval));
    else if (approval.innerSession) await log.showInner(approval, input.answered?.get(id));
    else await log.write(outcomeChunks(approval, input.answered?.get(id)));
  }
  // A yes to a browser tool settles nothing yet. A step of its own keeps stock chats from sending the answer again.
  if (waiting.length > 0) await log.writeStep(waiting.flatMap(dataApproval));
}

/** A stop ends the agents run as tools that are at work in this turn; one that waits for a person goes on waiting. */
async function stopAgents({ chat, reply }: Turn, { store }: Stage, log: TurnLog): Promise<void> {
  for (const row of await store.listApprovals({ chat: chat.id, state: "approved" })) {
    if (row.innerSession === undefined || row.messageId !== reply) continue;
    const inner = await store.listApprovals({ session: row.innerSession });
    if (inner.some(({ state }) => state === "pending")) continue;
    const { applied, approval } = await store.move(row.id, { event: "cancel" });
    if (applied && approval) await log.showInner(approval);
  }
}
