import { createEvent, type Event, isAgentTool, type Runner, SequentialAgent, StreamingMode } from "@google/adk";
import type { Content } from "@google/genai";
import type { UIMessage, UIMessageChunk } from "ai";
import { BridgeError, isSettled } from "../protocol/index.ts";
import { AlreadyAnswered, type Approval, type JsonObject, type Session, type Store } from "../stores/index.ts";
import { abortable, stepThrough } from "./abortable.ts";
import {
  announceCall,
  type ChunkState,
  closeStep,
  countUsage,
  eventToChunks,
  initialChunkState,
  openStep,
  totalUsage,
} from "./event-to-chunks.ts";
import { agentOf, agentOutcome, agentRequest } from "./agents.ts";
import { type Executor, findTool, requireLlmAgent } from "./executor.ts";
import type { Gate, Run } from "./gate.ts";
import { awaitsModel, keptResults, openCalls, responseEvent, unknownCalls } from "./history.ts";
import { describeError, type Logger } from "./logger.ts";
import { messageToContent } from "./message-to-content.ts";
import { approvalToResponse, dataApproval, interruptedResponse, lateNote, outcomeChunks, runningResponse } from "./outcome.ts";

/**
 * A turn: what the agent does for one input, a message or the settling of calls it had asked about. It belongs to the
 * chat and not to a connection, and writes chunks to the chat's log; whoever wants to see them reads the log.
 *
 * Read `runTurn` from top to bottom. Resuming is not a second path: a decision enters where a message does.
 */
export interface Turn {
  id: string;
  chat: Session;
  /** The assistant message this turn writes to; a continuation repeats the id of the message it continues. */
  reply: string;
  input: TurnInput;
  signal: AbortSignal;
}

export type TurnInput =
  | { kind: "message"; message: UIMessage; /** False where the log shows the message already. */ record: boolean }
  | {
      kind: "settled";
      /** The rows that were answered, expired or recovered. */
      approvals: readonly string[];
      /** What the client that sent the answers believes it said; absent where nobody's chat said anything. */
      answered?: ReadonlyMap<string, boolean>;
      /** `false` shows the outcomes and leaves the model alone; `"nudge"` also repeats a model call that a crash cut off. */
      model: boolean | "nudge";
    };

export interface TurnTools {
  store: Store;
  gate: Gate;
  executor: Executor;
  logger: Logger;
  maxLlmCalls: number;
  /** How long new text waits for a tool that is still running before the model is told that its outcome is not known. */
  graceMs: number;
  modelName: string;
  /** Names of the agents that are run as tools. */
  agentTools: ReadonlySet<string>;
  runnerFor(session: Session): Promise<Runner>;
  siblingRunner(session: Session, agent: SequentialAgent["subAgents"][number]): Runner;
}

type Progress = "done" | "parked";

export async function runTurn(turn: Turn, tools: TurnTools): Promise<void> {
  const log = new TurnLog(turn, tools);
  const { chat, input } = turn;
  await log.begin();
  try {
    let progress: Progress;
    if (input.kind === "message") {
      for (const approval of await heal(chat, tools)) await log.write(dataApproval(approval));
      await tellLateOutcomes(chat, tools);
      progress = await run(chat, messageToContent(input.message), turn, tools, log, { message: input.message.id });
    } else {
      await showOutcomes(input, turn, tools, log);
      await tellLateOutcomes(chat, tools);
      progress = input.model === false ? "parked" : await advance(chat, turn, tools, log);
    }
    await log.finish(progress);
  } catch (error) {
    if (turn.signal.aborted) await log.abort();
    else await log.fail(error);
  } finally {
    await log.end();
  }
}

/** Executes what was approved, and shows what became of each answered call. */
async function showOutcomes(input: TurnInput & { kind: "settled" }, { signal }: Turn, tools: TurnTools, log: TurnLog) {
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
    if (isSettled(approval.state)) await log.write(outcomeChunks(approval, input.answered?.get(id)));
    else waiting.push(approval);
  }
  // A yes to a browser tool settles nothing yet. A step of its own keeps stock chats from sending the answer again.
  if (waiting.length > 0) await log.writeStep(waiting.flatMap(dataApproval));
}

/**
 * Goes on where a session waits: when every call of its open step is settled, the model gets all their responses at once,
 * in the order of the calls. Agents run as tools are sessions of their own, so this descends into them first.
 */
async function advance(session: Session, turn: Turn, tools: TurnTools, log: TurnLog): Promise<Progress> {
  const { store } = tools;
  const events = await loadEvents(session, tools);
  const last = openCalls(events).at(-1)?.event;
  if (!last) {
    const nudge = turn.input.kind === "settled" && turn.input.model === "nudge" && awaitsModel(events);
    return nudge ? run(session, { role: "user", parts: [{ text: "" }] }, turn, tools, log) : "done";
  }
  const open = openCalls(events).filter(({ event }) => event.id === last.id);
  const rows = new Map((await store.listApprovals({ session: session.id })).map((row) => [row.toolCallId, row]));
  for (const { call } of open) {
    const row = rows.get(call.id);
    if (!row?.innerSession || row.state !== "approved") continue;
    await runInner(row, turn, tools, log);
    const settled = await store.getApproval(row.id);
    if (!settled) continue;
    rows.set(call.id, settled);
    if (isSettled(settled.state)) await log.showInner(settled);
  }
  const asked = open.flatMap(({ call }) => rows.get(call.id) ?? []);
  if (asked.some(({ state }) => !isSettled(state))) return "parked";

  const kept = keptResults(events);
  const parts = open.map(({ call: { id, name } }) => {
    const row = rows.get(id);
    const response = (row && approvalToResponse(row)) ?? kept.get(id) ?? interruptedResponse;
    return { functionResponse: { id, name, response } };
  });
  const stateDelta = Object.assign({}, ...asked.map((row) => row.stateDelta)) as Record<string, unknown>;
  let progress = await run(session, { role: "user", parts }, turn, tools, log, { stateDelta });
  for (const row of asked) await store.markTold(row.id);
  if (progress === "parked") return progress;

  // ADK resumes one agent of a sequence only; the ones behind it are ours to run.
  const runner = await tools.runnerFor(session);
  let agent = "findAgent" in runner.agent ? runner.agent.findAgent(last.author ?? "") : undefined;
  for (; agent?.parentAgent; agent = agent.parentAgent) {
    const { parentAgent } = agent;
    if (!(parentAgent instanceof SequentialAgent)) continue;
    for (const next of parentAgent.subAgents.slice(parentAgent.subAgents.indexOf(agent) + 1)) {
      const sibling = tools.siblingRunner(session, next);
      progress = await run(session, { role: "user", parts: [{ text: "" }] }, turn, tools, log, { runner: sibling });
      if (progress === "parked") return progress;
    }
  }
  return "done";
}

/** One ADK run: its events become chunks, a held call parks it. */
async function run(
  session: Session,
  newMessage: Content,
  turn: Turn,
  tools: TurnTools,
  log: TurnLog,
  extra: { message?: string; stateDelta?: Record<string, unknown>; runner?: Runner } = {},
): Promise<Progress> {
  const runner = extra.runner ?? (await tools.runnerFor(session));
  const scope: Run = {
    chat: turn.chat.id,
    owner: turn.chat.owner,
    messageId: turn.reply,
    paused: false,
    onHeld: (approval) => log.ask(approval),
    onUsage: (event) => log.count(event),
    runInner: (approval) => runInner(approval, turn, tools, log),
  };
  const leave = tools.gate.enter(session.id, scope);
  try {
    const events = runner.runAsync({
      userId: session.owner,
      sessionId: session.id,
      newMessage,
      stateDelta: extra.stateDelta,
      abortSignal: turn.signal,
      customMetadata: extra.message === undefined ? undefined : { message: extra.message },
      runConfig: { streamingMode: StreamingMode.SSE, maxLlmCalls: tools.maxLlmCalls },
    });
    const inner = session.id !== turn.chat.id;
    for await (const event of stepThrough(events, turn.signal)) await log.event(event, inner);
  } catch (error) {
    if (!(error instanceof AlreadyAnswered)) throw error;
    tools.logger.info("Another instance goes on with this step.", { chat: turn.chat.id, call: error.callId });
    return "parked";
  } finally {
    leave();
  }
  turn.signal.throwIfAborted();
  return scope.paused ? "parked" : "done";
}

/** An agent run as a tool, in a session of its own with our gate in front of its tools. */
async function runInner(approval: Approval, turn: Turn, tools: TurnTools, log: TurnLog) {
  const { store, executor } = tools;
  const host = await tools.runnerFor(await requireSession(store, approval.session));
  const caller = requireLlmAgent("findAgent" in host.agent ? host.agent.findAgent(approval.agent) : undefined, approval.agent);
  const tool = await findTool(caller, approval.toolName);
  if (!isAgentTool(tool) || !approval.innerSession) throw new Error(`${approval.toolName} is not an agent.`);
  const outer = await requireSession(store, approval.session);
  const inner = await store.openSession({
    id: approval.innerSession,
    chat: turn.chat.id,
    appName: agentOf(tool).name,
    state: outer.state,
  });
  const request = agentRequest(tool, JSON.parse(approval.input) as JsonObject);
  const fresh = (await store.events(inner.id)).length === 0;
  const progress = fresh
    ? await run(inner, { role: "user", parts: [{ text: request }] }, turn, tools, log)
    : await advance(inner, turn, tools, log);
  if (progress === "parked") return undefined;
  const settled = await executor.settle(approval, agentOutcome(tool, await loadEvents(inner, tools)));
  return isSettled(settled.state) ? settled : undefined;
}

/**
 * Before new text, every call in the history gets its response: what the ledger knows, what was kept, or that it was
 * cancelled. Returns the rows this cancelled.
 */
async function heal(session: Session, tools: TurnTools): Promise<Approval[]> {
  const { store, executor } = tools;
  const events = await loadEvents(session, tools);
  const kept = keptResults(events);
  const rows = new Map((await store.listApprovals({ session: session.id })).map((row) => [row.toolCallId, row]));
  const cancelled: Approval[] = [];
  for (const open of openCalls(events)) {
    let row = rows.get(open.call.id);
    if (row && (row.state === "pending" || (row.state === "approved" && row.external)))
      for (const changed of await cancel(row, store)) {
        cancelled.push(changed);
        if (changed.id === row.id) row = changed;
      }
    const attempt = row && executor.attempt(row.id);
    if (row && attempt) row = await Promise.race([attempt, later(tools.graceMs, row)]);
    const response = (row && approvalToResponse(row)) ?? kept.get(open.call.id);
    const event = responseEvent(open, response ?? (row ? runningResponse : interruptedResponse), {
      unknown: row !== undefined && response === undefined,
      stateDelta: row?.stateDelta,
    });
    try {
      await (await tools.runnerFor(session)).sessionService.appendEvent({ session: await adkSession(session, tools), event });
    } catch (error) {
      if (!(error instanceof AlreadyAnswered)) throw error;
    }
    if (row && response) await store.markTold(row.id);
  }
  return cancelled;
}

/** Cancels a call, and with an agent run as a tool everything it waits for. */
export async function cancel(approval: Approval, store: Store): Promise<Approval[]> {
  const inner = approval.innerSession ? await store.listApprovals({ session: approval.innerSession }) : [];
  const cancelled = (await Promise.all(inner.map((row) => cancel(row, store)))).flat();
  const { moved, approval: row } = await store.move(approval.id, { event: "cancel" });
  return moved && row ? [...cancelled, row] : cancelled;
}

/** Outcomes that came after the model was told "not known yet" are told as context, once. */
async function tellLateOutcomes(session: Session, tools: TurnTools): Promise<void> {
  const { store } = tools;
  const late = (await store.listApprovals({ session: session.id })).filter((row) => isSettled(row.state) && !row.told);
  if (late.length === 0) return;
  const events = await loadEvents(session, tools);
  const unknown = unknownCalls(events);
  const open = new Set(openCalls(events).map(({ call }) => call.id));
  for (const row of late) {
    if (open.has(row.toolCallId)) continue;
    if (!(await store.markTold(row.id)) || !unknown.has(row.toolCallId)) continue;
    const event = createEvent({ author: "user", content: { role: "user", parts: [{ text: lateNote(row) }] } });
    const { sessionService } = await tools.runnerFor(session);
    await sessionService.appendEvent({ session: await adkSession(session, tools), event });
  }
}

/** What a turn has shown so far, and the only writer of its chunks. */
class TurnLog {
  readonly #turn: Turn;
  readonly #tools: TurnTools;
  #state: ChunkState = initialChunkState;
  #ran = false;

  constructor(turn: Turn, tools: TurnTools) {
    this.#turn = turn;
    this.#tools = tools;
  }

  async begin(): Promise<void> {
    const { chat, id, reply, input } = this.#turn;
    const message = input.kind === "message" && input.record ? { message: input.message } : {};
    await this.#tools.store.append(chat.id, [
      { turn: id, kind: "begin", reply, ...message },
      { turn: id, kind: "chunk", chunk: { type: "start", messageId: reply } },
    ]);
  }

  async write(chunks: readonly UIMessageChunk[]): Promise<void> {
    if (chunks.length === 0) return;
    const { chat, id } = this.#turn;
    await this.#tools.store.append(chat.id, chunks.map((chunk) => ({ turn: id, kind: "chunk", chunk })));
  }

  async event(event: Event, inner: boolean): Promise<void> {
    this.#ran = true;
    const { agentTools } = this.#tools;
    const [state, chunks] = eventToChunks(this.#state, event, { inner, defer: (name) => agentTools.has(name) });
    this.#state = state;
    await this.write(chunks);
  }

  /** Usage that came in no event of its own. */
  count(event: Event): void {
    this.#state = countUsage(this.#state, event);
  }

  /** Asks a person about a held call; a call that only waits for the browser is shown without a question. */
  async ask(approval: Approval): Promise<void> {
    if (!approval.gated) return;
    const { id: approvalId, toolCallId } = approval;
    const [announced, chunks] = announceCall(this.#state, toolCallId);
    const [state, step] = openStep(announced);
    this.#state = state;
    const hint = approval.hint === undefined ? {} : { approvalDescriptor: { hint: approval.hint } };
    await this.write([...chunks, ...step, { type: "tool-approval-request", approvalId, toolCallId, ...hint }, ...dataApproval(approval)]);
  }

  /** An agent run as a tool appears with its outcome, see `ChunkOptions.defer`. */
  async showInner(approval: Approval): Promise<void> {
    const { toolCallId, toolName, gated } = approval;
    const input = JSON.parse(approval.input) as unknown;
    const announced: UIMessageChunk[] = gated
      ? []
      : [
          { type: "tool-input-start", toolCallId, toolName },
          { type: "tool-input-available", toolCallId, toolName, input },
        ];
    await this.writeStep([...announced, ...outcomeChunks(approval, undefined)]);
  }

  async writeStep(chunks: readonly UIMessageChunk[]): Promise<void> {
    const [opened, start] = openStep(this.#state);
    const [state, end] = closeStep(opened);
    this.#state = state;
    await this.write([...start, ...chunks, ...end]);
  }

  async finish(progress: Progress): Promise<void> {
    if (this.#ran && !this.#state.shown)
      this.#state = {
        ...this.#state,
        error: "The model returned nothing. The prompt may have been blocked by its safety filters.",
      };
    const { error, finishReason } = this.#state;
    await this.#close();
    if (error !== undefined) return this.write([{ type: "error", errorText: error }]);
    const { modelName } = this.#tools;
    await this.write([
      {
        type: "finish",
        finishReason: progress === "parked" ? "tool-calls" : finishReason,
        messageMetadata: { usage: totalUsage(this.#state), modelVersion: modelName },
      },
    ]);
  }

  async abort(): Promise<void> {
    await this.#close();
    await this.write([{ type: "abort" }]);
  }

  async fail(error: unknown): Promise<void> {
    const safe = error instanceof BridgeError;
    if (!safe) this.#tools.logger.error("A turn failed.", { chat: this.#turn.chat.id, turn: this.#turn.id, error: describeError(error) });
    await this.#close();
    await this.write([{ type: "error", errorText: safe ? error.message : "Something went wrong on the server. The details are in its log." }]);
  }

  async end(): Promise<void> {
    await this.#tools.store.append(this.#turn.chat.id, [{ turn: this.#turn.id, kind: "end" }]);
  }

  async #close(): Promise<void> {
    const [state, chunks] = closeStep(this.#state);
    this.#state = state;
    await this.write(chunks);
  }
}

async function requireSession(store: Store, id: string): Promise<Session> {
  const session = await store.getSession(id);
  if (!session) throw new Error(`Session ${id} is gone.`);
  return session;
}

async function adkSession(session: Session, tools: TurnTools) {
  const { sessionService, appName } = await tools.runnerFor(session);
  const loaded = await sessionService.getSession({ appName, userId: session.owner, sessionId: session.id });
  if (!loaded) throw new Error(`Session ${session.id} is gone.`);
  return loaded;
}

async function loadEvents(session: Session, tools: TurnTools): Promise<Event[]> {
  return (await adkSession(session, tools)).events;
}

function later<T>(ms: number, value: T): Promise<T> {
  return new Promise((resolve) => setTimeout(resolve, ms, value));
}
