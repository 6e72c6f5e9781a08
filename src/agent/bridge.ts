import { type BaseAgent, type BasePlugin, isBaseAgent, isLlmAgent } from "@google/adk";
import type { UIMessage, UIMessageChunk } from "ai";
import { type ApprovalState, type ApprovalView, type Decision, isSettled } from "../protocol/index.ts";
import type { Approval, JsonObject, LogEntry, Store } from "../stores/index.ts";
import { agentTools, refuseUnknownTools } from "./agents.ts";
import { agrees, type Answer, resolveAnswers, toOutcome, unknownApproval, unknownChat } from "./answers.ts";
import { atMost } from "./at-most.ts";
import type { QueuedTurn } from "./chat-queue.ts";
import { ChatTurns } from "./chat-turns.ts";
import { isClientTool } from "./client-tool.ts";
import { Executor, findTool } from "./executor.ts";
import { Gate } from "./gate.ts";
import { followLog } from "./follow-log.ts";
import { newId } from "./ids.ts";
import { type LiveOptions, LiveSessions } from "./live-sessions.ts";
import { describeError, type Logger, consoleLogger } from "./logger.ts";
import { logToMessages } from "./log-to-messages.ts";
import { approvalToView, outcomeChunks } from "./outcome.ts";
import { type LoggedChunk, readTurn, type ReadOptions } from "./read-turn.ts";
import { closeOpenTurns } from "./recover.ts";
import { findReply, type Regeneration } from "./regenerate.ts";
import { Runners } from "./runners.ts";
import { StoreSessionService } from "./session-service.ts";
import type { ToolPolicy } from "./tool-policy.ts";
import { Settlement } from "./settlement.ts";
import type { Stage } from "./turn.ts";

export interface BridgeOptions {
  agent: BaseAgent;
  store: Store;
  appName?: string;
  /** What the server knows of tools by name: which to ask about, and what a crash in the middle of one means. */
  tools?: Record<string, ToolPolicy>;
  /** Your own ADK plugins; they run behind the gate. */
  plugins?: BasePlugin[];
  /** How long a person has to answer. Default 15 minutes. */
  approvalTtlMs?: number;
  /** How long after a yes a call may still start. Default 5 minutes. */
  startMs?: number;
  /** Questions one chat may have open. Default 32. */
  maxPending?: number;
  /** How often one turn may ask the model; in live mode, how often the model may call. Default 50. */
  maxLlmCalls?: number;
  /** How long new text waits for a running tool. Default 1 second. */
  graceMs?: number;
  /** How long a silent executor keeps its claim. Default 10 seconds. */
  leaseMs?: number;
  /** How often expiry and lost claims are looked for; 0 leaves it to calls of `sweep`. Default 1 second. */
  sweepMs?: number;
  /** How a Gemini Live model is reached. */
  live?: LiveOptions;
  /** Where details go; warnings and errors to the console unless given. `silentLogger` says nothing. */
  logger?: Logger;
}

/** What a chat request asks for, whichever wire and shape it came in. */
export type Submission =
  | { type: "message"; message: UIMessage }
  | {
      type: "answers";
      answers: readonly Answer[];
      messageId?: string;
      /** The answers came outside a chat request, so no client waits for them in the message they are about. */
      aside?: boolean;
    }
  | { type: "regenerate"; messageId?: string };

/** How to read what a request caused: a turn in the log, or a few chunks that nobody else needs. */
export type Reply = Reading | { chunks: () => AsyncGenerator<UIMessageChunk> };

/** A turn of a chat, to be read from the log. */
export interface Reading {
  turn: QueuedTurn;
  chat: string;
}

export type DecisionResult =
  | { outcome: "accepted"; approval: ApprovalView }
  /** The same decision had been made. */
  | { outcome: "repeated"; approval: ApprovalView }
  /** Another answer, the clock, or a cancellation came first. */
  | { outcome: "refused"; approval: ApprovalView };

/** How long closing waits for tools: of one that is cut off, nobody may ever know what it did. */
const closingMs = 5000;

/** Starts the bridge: recovers what a crash left behind, then watches for expiry. */
export async function createBridge(options: BridgeOptions): Promise<Bridge> {
  const bridge = new Bridge(options);
  await bridge.start();
  return bridge;
}

/**
 * The agent's side of the system, for any wire: messages and decisions in, a log of chunks out. Every method takes the
 * owner that authentication found; what belongs to somebody else looks like what does not exist.
 */
export class Bridge {
  readonly #store: Store;
  readonly #logger: Logger;
  readonly #appName: string;
  readonly #runners: Runners;
  readonly #executor: Executor;
  readonly #live: LiveSessions;
  readonly #sweepMs: number;
  readonly #turns: ChatTurns;
  readonly #settlement: Settlement;
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | undefined;

  constructor(options: BridgeOptions) {
    const { agent, store, logger = consoleLogger, approvalTtlMs = 15 * 60_000, startMs = 5 * 60_000 } = options;
    if (!isBaseAgent(agent)) throw new Error("createBridge takes an agent; a workflow of ADK is none.");
    const tools = new Map(Object.entries(options.tools ?? {}));
    refuseUnknownTools(agent, [...tools.keys()]);
    this.#store = store;
    this.#logger = logger;
    this.#appName = options.appName ?? agent.name;
    const sessions = new StoreSessionService(store);
    const gate = new Gate({ store, tools, approvalTtlMs, startMs, maxPending: options.maxPending ?? 32, logger });
    // The gate comes first: what another plugin's callback returned would keep it from being asked.
    const plugins = [gate, ...(options.plugins ?? [])];
    const runners = new Runners({ agent, appName: this.#appName, store, sessions, plugins });
    this.#runners = runners;
    this.#executor = new Executor({
      store,
      gate,
      tools,
      logger,
      leaseMs: options.leaseMs ?? 10_000,
      waitMs: approvalTtlMs,
      host: (approval) => runners.hostOf(approval),
    });
    this.#sweepMs = options.sweepMs ?? 1000;
    this.#live = new LiveSessions(agent, options.live ?? {}, {
      onSpeech: (chat) => this.#turns.hear(chat),
      onCancelled: (chat, callIds) => this.#turns.takeBack(chat, callIds),
    });
    const stage: Stage = {
      store,
      sessions,
      gate,
      logger,
      executor: this.#executor,
      maxLlmCalls: options.maxLlmCalls ?? 50,
      graceMs: options.graceMs ?? 1000,
      modelName: modelName(agent),
      agentTools: new Set(agentTools(agent).map(({ name }) => name)),
      runners,
      live: this.#live,
    };
    this.#turns = new ChatTurns(stage);
    this.#settlement = new Settlement(stage, this.#turns);
  }

  async start(): Promise<void> {
    await this.#settlement.settleDue(await closeOpenTurns(this.#store));
    if (this.#sweepMs > 0) {
      this.#timer = setInterval(() => void this.sweep(), this.#sweepMs);
      this.#timer.unref();
    }
  }

  /** Takes in a chat request; the reply can be read at once, and goes on without its reader. */
  async submit(
    owner: string,
    chatName: string,
    submission: Submission,
    { live = false }: { /** Talk to the model over a live connection. */ live?: boolean } = {},
  ): Promise<Reply> {
    this.#turns.refuseWhenClosed();
    switch (submission.type) {
      case "message":
        return this.#say(owner, chatName, submission.message, live);
      case "answers":
        return this.#answer(owner, chatName, submission, live);
      case "regenerate":
        return this.#regenerate(owner, chatName, submission.messageId, live);
    }
  }

  /** One decision made outside a chat request. The server itself goes on with the turn. */
  async decide(owner: string, decision: Decision & { key?: string }): Promise<DecisionResult> {
    this.#turns.refuseWhenClosed();
    const found = await this.#store.getApproval(decision.approvalId);
    if (!found || found.owner !== owner || !found.gated) throw unknownApproval(decision.approvalId);
    return this.#turns.inChat(found.chat, async (queue) => {
      const before = (await this.#store.getApproval(found.id)) ?? found;
      const { moved, expired, approval } = await this.#settlement.decide(before, decision);
      if (moved || expired)
        await this.#turns.continue(queue, [approval], {
          reply: await this.#turns.placeFor(approval.chat, approval.messageId),
        });
      const view = approvalToView(approval);
      if (moved) return { outcome: "accepted", approval: view };
      return { outcome: agrees(approval, decision.approved) ? "repeated" : "refused", approval: view };
    });
  }

  /**
   * The outcome of a call that the application itself was waiting for: a long-running tool, named by the
   * `idempotencyKey` it was given.
   */
  async settle(owner: string, key: string, outcome: JsonObject): Promise<ApprovalView> {
    const found = (await this.#store.getApproval(key)) ?? (await this.#findByCall(key));
    const waits = found && !found.innerSession && (found.external || found.decidedAt !== undefined);
    if (!waits || found.owner !== owner) throw unknownApproval(key);
    return this.#turns.inChat(found.chat, async (queue) => {
      const before = (await this.#store.getApproval(found.id)) ?? found;
      const settled = await this.#executor.settle(before, { event: "succeed", outcome });
      if (settled.state !== before.state)
        await this.#turns.continue(queue, [settled], {
          reply: await this.#turns.placeFor(settled.chat, settled.messageId),
        });
      return approvalToView(settled);
    });
  }

  /** By the key of a call that ran before it had a row, see `idempotencyKey`. */
  async #findByCall(key: string): Promise<Approval | undefined> {
    // The model may have named its call, with colons of its own.
    for (let at = key.indexOf(":"); at !== -1; at = key.indexOf(":", at + 1)) {
      const rows = await this.#store.listApprovals({ session: key.slice(0, at) });
      const found = rows.find(({ toolCallId }) => toolCallId === key.slice(at + 1));
      if (found) return found;
    }
    return undefined;
  }

  /** The turn that is being generated, if any; a turn parked at an approval is not. */
  async resume(owner: string, chatName: string): Promise<Reading | undefined> {
    const chat = await this.#store.findChat(owner, chatName);
    const turn = chat && this.#turns.running(chat.id);
    return turn && { turn, chat: chat.id };
  }

  /** Stops what is being generated. Tools that have started run to their end, and their outcome is recorded. */
  async stop(owner: string, chatName: string): Promise<boolean> {
    const chat = await this.#store.findChat(owner, chatName);
    if (!chat) throw unknownChat(chatName);
    return this.#turns.stop(chat.id, new Error("The user stopped the turn."));
  }

  /** The chat as a page loads it first. What is being generated right now comes from `resume`. */
  async messages(owner: string, chatName: string): Promise<UIMessage[]> {
    const chat = await this.#store.findChat(owner, chatName);
    if (!chat) throw unknownChat(chatName);
    const running = this.#turns.running(chat.id)?.id;
    const entries = (await this.#store.read(chat.id)).filter(({ turn, kind }) => turn !== running || kind === "begin");
    const onError = (error: unknown) =>
      this.#logger.error("A turn in the log cannot be read.", { chat: chat.id, error: describeError(error) });
    return logToMessages(entries, await this.#store.listApprovals({ chat: chat.id }), onError);
  }

  async approvals(
    owner: string,
    filter: { chat?: string; state?: ApprovalState },
  ): Promise<{ approvals: ApprovalView[]; sequence: number; running: boolean }> {
    const chat = filter.chat === undefined ? undefined : await this.#store.findChat(owner, filter.chat);
    if (filter.chat !== undefined && !chat) return { approvals: [], sequence: 0, running: false };
    const rows = await this.#store.listApprovals({ owner, chat: chat?.id, state: filter.state });
    return {
      approvals: rows.filter(({ gated }) => gated).map(approvalToView),
      sequence: chat ? await this.#store.lastSequence(chat.id) : 0,
      running: chat ? this.#turns.running(chat.id) !== undefined : false,
    };
  }

  /** A row for its owner; unknown and foreign are the same. */
  async approval(owner: string, id: string): Promise<ApprovalView | undefined> {
    const approval = await this.#store.getApproval(id);
    return approval?.owner === owner && approval.gated ? approvalToView(approval) : undefined;
  }

  /** The chunks of one turn as they come, see {@link readTurn}. */
  read({ turn, chat }: Reading, options: ReadOptions = {}): AsyncGenerator<LoggedChunk[]> {
    return readTurn(this.#store, chat, turn, options);
  }

  /** Everything that is written to a chat behind `after` (from now on, where it is not given) until the signal aborts. */
  async follow(
    owner: string,
    chatName: string,
    { after, signal }: { after?: number; signal: AbortSignal },
  ): Promise<AsyncGenerator<LogEntry[]>> {
    const chat = await this.#store.findChat(owner, chatName);
    if (!chat) throw unknownChat(chatName);
    const from = after ?? (await this.#store.lastSequence(chat.id));
    return followLog(this.#store, chat.id, { after: from, signal });
  }

  /** Somebody is connected to the chat, so its live connection stays open; returns what to call when they leave. */
  attach(owner: string, chatName: string): () => void {
    return this.#live.attach(owner, chatName);
  }

  /** The name of the chat an approval belongs to; undefined where the owner has no such approval. */
  async chatOf(owner: string, approvalId: string): Promise<string | undefined> {
    const approval = await this.#store.getApproval(approvalId);
    if (approval?.owner !== owner) return undefined;
    return (await this.#store.getSession(approval.chat))?.name;
  }

  /** Expires what is due and takes over what a dead process left behind. */
  sweep(): Promise<void> {
    this.#sweeping ??= this.#settlement
      .settleDue()
      .catch((error: unknown) =>
        this.#logger.error("Looking for due approvals failed.", { error: describeError(error) }),
      )
      .finally(() => (this.#sweeping = undefined));
    return this.#sweeping;
  }

  /** Stops turns and timers, and gives tools that are running a moment to end. The store stays its owner's to close. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#turns.close();
    await this.#live.closeAll();
    await this.#sweeping;
    await atMost(closingMs, this.#executor.idle());
  }

  // ── a chat request ─────────────────────────────────────────────────────────────────────────────────────────────

  async #say(owner: string, chatName: string, message: UIMessage, live: boolean): Promise<Reply> {
    const chat = await this.#store.openChat({ owner, name: chatName, appName: this.#appName });
    return this.#turns.exclusive(chat, async (queue) => {
      await queue.stopAll(new Error("A new message came."));
      const input = { kind: "message", message, record: true } as const;
      return { chat: chat.id, turn: await this.#turns.enqueue(queue, newId("msg"), input, live) };
    });
  }

  async #regenerate(owner: string, chatName: string, messageId: string | undefined, live: boolean): Promise<Reply> {
    const chat = await this.#store.findChat(owner, chatName);
    if (!chat) throw unknownChat(chatName);
    return this.#turns.exclusive(chat, async (queue) => {
      await queue.stopAll(new Error("The reply is made again."));
      const found: Regeneration = await findReply(chat, messageId, this.#store);
      // A live model remembers what it said.
      await this.#live.close(chat.id);
      await found.withdraw();
      const input = { kind: "message", message: found.message, record: false } as const;
      return { chat: chat.id, turn: await this.#turns.enqueue(queue, newId("msg"), input, live) };
    });
  }

  async #answer(
    owner: string,
    chatName: string,
    { answers, messageId, aside }: Submission & { type: "answers" },
    live: boolean,
  ): Promise<Reply> {
    const chat = await this.#store.findChat(owner, chatName);
    if (!chat) throw answers.length > 0 ? unknownApproval(answers[0]!.id) : unknownChat(chatName);
    return this.#turns.exclusive(chat, async (queue) => {
      const asked = await this.#store.listApprovals({ chat: chat.id });
      const given = await resolveAnswers(answers, asked, (approval) => this.#isClientCall(approval));
      const changed: Approval[] = [];
      const said = new Map<string, boolean>();
      for (const { approval: before, answer } of given) {
        let approval = before;
        let changes = false;
        if (answer.approved !== undefined && approval.gated) {
          said.set(approval.id, answer.approved);
          const decided = await this.#settlement.decide(approval, { approved: answer.approved, reason: answer.reason });
          ({ approval } = decided);
          changes = decided.moved || decided.expired;
        }
        if (answer.result && agrees(approval, true) && !isSettled(approval.state)) {
          const { state } = approval;
          approval = await this.#executor.settle(approval, toOutcome(answer.result));
          changes ||= approval.state !== state;
        }
        if (changes) changed.push(approval);
      }
      const about = given.at(-1)?.approval.messageId ?? messageId ?? newId("msg");
      const reply = aside ? await this.#turns.placeFor(chat.id, about) : about;
      const elsewhere = changed.filter((approval) => approval.messageId !== about);
      for (const approval of elsewhere)
        await this.#turns.continue(queue, [approval], { reply: approval.messageId, live });
      if (changed.length > elsewhere.length) {
        // Every answered call is settled in the reply that carries the answer, or stock chats send it again for ever.
        const repeated = given.filter(
          ({ approval, answer, shown }) =>
            answer.approved !== undefined && !shown && !changed.some(({ id }) => id === approval.id),
        );
        const settled = [...repeated.map(({ approval }) => approval), ...changed].filter(
          (approval) => approval.messageId === about,
        );
        return { chat: chat.id, turn: await this.#turns.continue(queue, settled, { reply, answered: said, live }) };
      }
      const ids = given.map(({ approval }) => approval.id);
      const rows = await Promise.all(ids.map((id) => this.#store.getApproval(id)));
      const agreed = rows.every((row) => row && (said.get(row.id) === undefined || agrees(row, said.get(row.id)!)));
      const joined = agreed
        ? queue.find((turn) => turn.reply === about && ids.some((id) => turn.covers.has(id)))
        : undefined;
      return joined ? { chat: chat.id, turn: joined } : { chunks: () => this.#outcomes(chat.id, ids, said, about) };
    });
  }

  /**
   * The reply to answers that changed nothing: what became of each call, and no model call. It ends with a step, and the
   * metadata publishes it: stock chats look past the last step for answers, and would send the same ones for ever.
   */
  async *#outcomes(
    chat: string,
    ids: readonly string[],
    said: ReadonlyMap<string, boolean>,
    messageId: string,
  ): AsyncGenerator<UIMessageChunk> {
    yield { type: "start", messageId };
    const notices: UIMessageChunk[] = [];
    for (const id of ids) {
      const attempt = this.#executor.attempt(id);
      const approval = attempt ? await attempt : await this.#store.getApproval(id);
      if (!approval) continue;
      const chunks = outcomeChunks(approval, said.get(id) ?? approval.state !== "denied");
      notices.push(...chunks.filter(({ type }) => type === "data-approval"));
      if (approval.messageId === messageId) yield* chunks.filter(({ type }) => type !== "data-approval");
    }
    yield* [{ type: "start-step" }, ...notices, { type: "finish-step" }] satisfies UIMessageChunk[];
    const rows = await this.#store.listApprovals({ chat });
    const waits = rows.some((row) => row.messageId === messageId && !isSettled(row.state));
    yield { type: "finish", finishReason: waits ? "tool-calls" : "stop", messageMetadata: {} };
  }

  async #isClientCall(approval: Approval): Promise<boolean> {
    if (!approval.external || approval.innerSession) return false;
    try {
      const { agent } = await this.#runners.hostOf(approval);
      return isClientTool(await findTool(agent, approval.toolName));
    } catch (error) {
      this.#logger.warn("The tool of a waiting call is gone.", { approval: approval.id, error: describeError(error) });
      return false;
    }
  }
}

function modelName(agent: BaseAgent): string {
  if (isLlmAgent(agent)) return agent.canonicalModel.model;
  return agent.subAgents.map(modelName).find((name) => name !== "") ?? "";
}
