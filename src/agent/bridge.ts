import type { UIMessage } from "ai";
import type { ApprovalState, ApprovalView, Decision } from "../protocol/index.ts";
import type { JsonObject, LogEntry, Session, Store } from "../stores/index.ts";
import {
  agentTools,
  GatePlugin,
  refuseReservedTools,
  refuseUnknownTools,
  requireAgent,
  Runners,
  StoreSessionService,
  ToolCalls,
} from "./adk/index.ts";
import { approvalToView, Executor, holdCalls, UnseenQuestions } from "./approval/index.ts";
import { type BridgeOptions, checkOptions } from "./bridge-options.ts";
import {
  ChatTurns,
  closeOpenTurns,
  type DecisionResult,
  DueWork,
  type Reading,
  type Reply,
  Settlement,
  type Submission,
  Submissions,
  unknownChat,
} from "./chat/index.ts";
import { Conversations } from "./conversation/index.ts";
import { followLog, lastMessageAt, type LoggedChunk, logToMessages, type ReadOptions, readTurn } from "./log/index.ts";
import { atMost, consoleLogger, describeError, type Logger } from "./support/index.ts";

/** Starts a bridge: recovers what a crash left behind, then watches for expiry. */
export async function createBridge(options: BridgeOptions): Promise<Bridge> {
  const bridge = new Bridge(options);
  await bridge.start();
  return bridge;
}

/**
 * The agent's side of the system, for any wire: messages and decisions in, a log of chunks out. Every method takes the owner
 * that authentication found; a chat or approval of another owner is indistinguishable from a missing one.
 *
 * This class only builds the parts and delegates to them: `chat/` takes requests and decisions in, `turn.ts` runs a turn,
 * `conversation/` talks to the model, `approval/` holds and executes calls, `log/` is what readers get.
 */
export class Bridge {
  readonly #store: Store;
  readonly #logger: Logger;
  readonly #executor: Executor;
  readonly #conversations: Conversations;
  readonly #turns: ChatTurns;
  readonly #settlement: Settlement;
  readonly #dueWork: DueWork;
  readonly #unseen: UnseenQuestions;
  readonly #submissions: Submissions;
  readonly #sweepMs: number;
  readonly #drainMs: number;
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: BridgeOptions) {
    checkOptions(options);
    const { agent, store, logger = consoleLogger, maxLlmCalls = 50, graceMs = 1000 } = options;
    const { approvalTtlMs = 15 * 60_000, startMs = 5 * 60_000, maxPending = 32, leaseMs = 10_000 } = options;
    requireAgent(agent);
    const appName = options.appName ?? agent.name;
    const policies = new Map(Object.entries(options.tools ?? {}));
    refuseReservedTools(agent);
    refuseUnknownTools(agent, [...policies.keys()]);

    const sessions = new StoreSessionService(store);
    const unseen = new UnseenQuestions({ store, lastMessageAt: (chat) => lastMessageAt(store, chat) });
    const holder = holdCalls({ store, policies, approvalTtlMs, startMs, maxPending, unseen, logger });
    const gate = new GatePlugin({ holder, logger });
    // The gate comes first: a value that another plugin's callback returns would keep it from being asked.
    const plugins = [gate, ...(options.plugins ?? [])];
    const runners = new Runners({ agent, appName, store, sessions, plugins });
    const calls = new ToolCalls({ runners, gate, store, logger });
    const executor = new Executor({ store, calls, policies, leaseMs, waitMs: approvalTtlMs, logger });
    const shared = { store, executor, logger, maxLlmCalls, graceMs };
    const conversations = new Conversations({ ...shared, agent, sessions, runners, gate }, options.live ?? {});
    const agentNames = new Set(agentTools(agent).map(({ name }) => name));
    const context = { ...shared, conversations, unseen, agentTools: agentNames };

    this.#store = store;
    this.#logger = logger;
    this.#executor = executor;
    this.#conversations = conversations;
    this.#turns = new ChatTurns(context);
    this.#settlement = new Settlement(context, this.#turns);
    this.#unseen = unseen;
    this.#dueWork = new DueWork({
      ...context,
      show: (chat, rows, how) => this.#settlement.show(chat, rows, how),
      isClosed: () => this.#turns.isClosed,
    });
    this.#submissions = new Submissions({
      ...context,
      ...{ appName, calls, turns: this.#turns, settlement: this.#settlement },
    });
    this.#sweepMs = options.sweepMs ?? 1000;
    this.#drainMs = options.drainMs ?? 5000;
  }

  async start(): Promise<void> {
    await this.#dueWork.settleDue(await closeOpenTurns(this.#store));
    if (this.#sweepMs > 0) {
      this.#timer = setInterval(() => void this.sweep(), this.#sweepMs);
      this.#timer.unref();
    }
  }

  // ── in ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Takes in a chat request. The reply can be read at once, and is completed even if no one reads it. */
  submit(
    owner: string,
    chatName: string,
    submission: Submission,
    { live = false }: { /** Talk to the model over a live connection. */ live?: boolean } = {},
  ): Promise<Reply> {
    this.#unseen.noteVisit(owner, chatName);
    return this.#submissions.submit(owner, chatName, submission, live ? "live" : "request");
  }

  /** One decision made outside a chat request. The server itself continues the conversation. */
  decide(owner: string, decision: Decision & { key?: string }): Promise<DecisionResult> {
    return this.#settlement.decide(owner, decision);
  }

  /** The result of a long-running tool, by the `idempotencyKey` that the tool was given. */
  settle(owner: string, key: string, outcome: JsonObject): Promise<ApprovalView> {
    return this.#settlement.settle(owner, key, outcome);
  }

  /** Stops what is being generated. Tools that have started run to their end, and their outcome is recorded. */
  async stop(owner: string, chatName: string): Promise<boolean> {
    const chat = await this.#requireChat(owner, chatName);
    return this.#turns.stop(chat.id, new Error("The user stopped the turn."));
  }

  /** A client is connected to the chat, so its live connection stays open. Call the returned function when it leaves. */
  attach(owner: string, chatName: string): () => void {
    this.#unseen.noteVisit(owner, chatName);
    return this.#conversations.attach(owner, chatName);
  }

  // ── out ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The turn that is being generated, if any. A turn that waits for an approval is not. */
  async resume(owner: string, chatName: string): Promise<Reading | undefined> {
    this.#unseen.noteVisit(owner, chatName);
    const chat = await this.#store.findChat(owner, chatName);
    const turn = chat && this.#turns.running(chat.id);
    return turn && { turn, chat: chat.id };
  }

  /** The chat's messages, without the reply that is being generated, which comes from `resume`. */
  async messages(owner: string, chatName: string): Promise<UIMessage[]> {
    this.#unseen.noteVisit(owner, chatName);
    const { id: chat } = await this.#requireChat(owner, chatName);
    const running = this.#turns.running(chat)?.id;
    const entries = (await this.#store.read(chat)).filter(({ turn, kind }) => turn !== running || kind === "begin");
    return logToMessages(entries, await this.#store.listApprovals({ chat }), (error) =>
      this.#logger.error("A turn in the log cannot be read.", { chat, error: describeError(error) }),
    );
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

  /** An approval, if this owner has it. */
  async approval(owner: string, id: string): Promise<ApprovalView | undefined> {
    const approval = await this.#store.getApproval(id);
    return approval?.owner === owner && approval.gated ? approvalToView(approval) : undefined;
  }

  /** The name of the chat that an approval belongs to, if this owner has it. */
  async chatOf(owner: string, approvalId: string): Promise<string | undefined> {
    const approval = await this.#store.getApproval(approvalId);
    return approval?.owner === owner ? (await this.#store.getSession(approval.chat))?.name : undefined;
  }

  /** The chunks of one turn as they are written, see {@link readTurn}. */
  read({ turn, chat }: Reading, options: ReadOptions = {}): AsyncGenerator<LoggedChunk[]> {
    return readTurn(this.#store, chat, turn, options);
  }

  /** Everything that is written to a chat after `after` (default: from now on), until the signal aborts. */
  async follow(
    owner: string,
    chatName: string,
    { after, signal }: { after?: number; signal: AbortSignal },
  ): Promise<AsyncGenerator<LogEntry[]>> {
    const { id: chat } = await this.#requireChat(owner, chatName);
    return followLog(this.#store, chat, { after: after ?? (await this.#store.lastSequence(chat)), signal });
  }

  // ── upkeep ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Expires approvals that are due and takes over calls whose process died. */
  sweep(): Promise<void> {
    this.#sweeping ??= this.#dueWork
      .settleDue()
      .catch((error: unknown) =>
        this.#logger.error("Looking for due approvals failed.", { error: describeError(error) }),
      )
      .finally(() => (this.#sweeping = undefined));
    return this.#sweeping;
  }

  /** Stops turns and timers, and gives running tools `drainMs` to end. Does not close the store. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    clearInterval(this.#timer);
    let isOver = false;
    const end = async () => {
      await this.#turns.close();
      await this.#conversations.closeAll();
      await this.#sweeping;
      await this.#executor.idle();
      isOver = true;
    };
    await atMost(this.#drainMs, end());
    if (isOver) return;
    const { chats } = this.#turns;
    this.#turns.abandon();
    void this.#conversations.closeAll();
    this.#logger.warn("Closing has left work that takes longer than drainMs.", {
      ...{ drainMs: this.#drainMs, calls: this.#executor.running, chats },
    });
  }

  async #requireChat(owner: string, name: string): Promise<Session> {
    const chat = await this.#store.findChat(owner, name);
    if (!chat) throw unknownChat(name);
    return chat;
  }
}
