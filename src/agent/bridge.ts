import type { UIMessage } from "ai";
import {
  type ApprovalState,
  type ApprovalView,
  type Decision,
  type OwnerOrIdentity,
  toIdentity,
} from "../protocol/index.ts";
import type { Approval, LogEntry, Session, Store } from "../stores/index.ts";
import {
  agentTools,
  GatePlugin,
  guardCompaction,
  refuseAgents,
  refuseToolsets,
  requireAgent,
  Runners,
  StoreSessionService,
  ToolCalls,
  Toolsets,
} from "./adk/index.ts";
import { approvalToView, Authorizer, Executor, holdCalls, Policies } from "./approval/index.ts";
import { type BridgeOptions, checkOptions } from "./bridge-options.ts";
import {
  ChatTurns,
  closeOpenTurns,
  type DecisionResult,
  type Reading,
  type Reply,
  type Report,
  type Resolution,
  Settlement,
  type Submission,
  Submissions,
  unknownChat,
} from "./chat/index.ts";
import { Conversations } from "./conversation/index.ts";
import { followLog, type LoggedChunk, logToMessages, type ReadOptions, readTurn } from "./log/index.ts";
import { atMost, consoleLogger, describeError, type Logger } from "./support/index.ts";

/** How long closing waits for running tools. The outcome of a tool that is cut off may never be known. */
const closingMs = 5000;

/** How many waiting approvals a list of those that an actor may decide looks at, the newest first. */
const maxOthers = 500;

/** Starts a bridge: recovers what a crash left behind, then watches for expiry. */
export async function createBridge(options: BridgeOptions): Promise<Bridge> {
  const bridge = new Bridge(options);
  await bridge.start();
  return bridge;
}

/**
 * The agent's side of the system, for any wire: messages and decisions in, a log of chunks out. Every method takes the owner
 * that authentication found, and those that record who did something take the actor too. A chat or approval of another
 * owner is indistinguishable from a missing one.
 *
 * This class only builds the parts and delegates to them: `chat/` takes requests and decisions in, `turn.ts` runs a turn,
 * `conversation/` talks to the model, `approval/` holds and executes calls, `log/` is what readers get.
 */
export class Bridge {
  readonly #store: Store;
  readonly #logger: Logger;
  readonly #toolsets: Toolsets;
  readonly #policies: Policies;
  readonly #executor: Executor;
  readonly #authorizer: Authorizer;
  readonly #conversations: Conversations;
  readonly #turns: ChatTurns;
  readonly #settlement: Settlement;
  readonly #submissions: Submissions;
  readonly #sweepMs: number;
  readonly #checkToolsets: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | undefined;

  constructor(options: BridgeOptions) {
    checkOptions(options);
    const { agent, store, logger = consoleLogger, maxLlmCalls = 50, graceMs = 1000 } = options;
    const { approvalTtlMs = 15 * 60_000, startMs = 5 * 60_000, maxPending = 32, leaseMs = 10_000 } = options;
    requireAgent(agent);
    const appName = options.appName ?? agent.name;
    const confirmed = Object.entries(options.tools ?? {}).flatMap(([name, { confirm }]) => (confirm ? [name] : []));
    refuseAgents(agent, confirmed);
    const toolsets = new Toolsets({ agent, logger });
    const policies = new Policies({ ...options, inventory: toolsets, logger });

    guardCompaction(agent);
    const sessions = new StoreSessionService(store);
    const holder = holdCalls({ store, policies, logger, approvalTtlMs, startMs, maxPending });
    const gate = new GatePlugin({ holder, logger });
    // The gate comes first: a value that another plugin's callback returns would keep it from being asked.
    const plugins = [gate, ...(options.plugins ?? [])];
    const { artifactService, memoryService, credentialService } = options;
    const services = { artifactService, memoryService, credentialService };
    const runners = new Runners({ agent, appName, store, sessions, plugins, services });
    const calls = new ToolCalls({ runners, gate, store, logger });
    const executor = new Executor({ store, calls, policies, leaseMs, logger });
    const authorizer = new Authorizer({ authorize: options.authorize, logger });
    const shared = { store, executor, authorizer, logger, maxLlmCalls, graceMs };
    const conversations = new Conversations({ ...shared, agent, sessions, runners, gate }, options.live ?? {});
    const context = { ...shared, conversations, agentTools: new Set(agentTools(agent).map(({ name }) => name)) };

    this.#store = store;
    this.#logger = logger;
    this.#toolsets = toolsets;
    this.#policies = policies;
    this.#executor = executor;
    this.#authorizer = authorizer;
    this.#conversations = conversations;
    this.#turns = new ChatTurns(context);
    this.#settlement = new Settlement(context, this.#turns);
    this.#submissions = new Submissions({
      ...context,
      ...{ appName, calls, turns: this.#turns, settlement: this.#settlement },
    });
    this.#sweepMs = options.sweepMs ?? 1000;
    this.#checkToolsets = () => refuseToolsets(agent, confirmed);
  }

  async start(): Promise<void> {
    await this.#checkToolsets();
    await this.#policies.start();
    await this.#settlement.settleDue(await closeOpenTurns(this.#store));
    if (this.#sweepMs > 0) {
      this.#timer = setInterval(() => void this.sweep(), this.#sweepMs);
      this.#timer.unref();
    }
  }

  // ── in ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Takes in a chat request. The reply can be read at once, and is completed even if no one reads it. */
  async submit(
    who: OwnerOrIdentity,
    chatName: string,
    submission: Submission,
    { live = false }: { /** Talk to the model over a live connection. */ live?: boolean } = {},
  ): Promise<Reply> {
    return this.#submissions.submit(toIdentity(who), chatName, submission, live ? "live" : "request");
  }

  /** One decision made outside a chat request. The server itself continues the conversation. */
  async decide(who: OwnerOrIdentity, decision: Decision & { key?: string }): Promise<DecisionResult> {
    return this.#settlement.decide(toIdentity(who), decision);
  }

  /**
   * What became of a call that has begun, by the `idempotencyKey` that the tool was given. The same report may come again;
   * rejects with {@link StateConflict} when another outcome or the deadline came first.
   */
  settle(owner: string, key: string, report: Report): Promise<ApprovalView> {
    return this.#settlement.settle(owner, key, report);
  }

  /** A person says what became of a call whose outcome is not known. Rejects with {@link StateConflict} for any other. */
  async resolve(who: OwnerOrIdentity, resolution: Resolution): Promise<ApprovalView> {
    return this.#settlement.resolve(toIdentity(who), resolution);
  }

  /** Stops what is being generated. Tools that have started run to their end, and their outcome is recorded. */
  async stop(owner: string, chatName: string): Promise<boolean> {
    const chat = await this.#requireChat(owner, chatName);
    return this.#turns.stop(chat.id, new Error("The user stopped the turn."));
  }

  /** A client is connected to the chat, so its live connection stays open. Call the returned function when it leaves. */
  attach(owner: string, chatName: string): () => void {
    return this.#conversations.attach(owner, chatName);
  }

  // ── out ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The turn that is being generated, if any. A turn that waits for an approval is not. */
  async resume(owner: string, chatName: string): Promise<Reading | undefined> {
    const chat = await this.#store.findChat(owner, chatName);
    const turn = chat && this.#turns.running(chat.id);
    return turn && { turn, chat: chat.id };
  }

  /** The chat's messages, without the reply that is being generated, which comes from `resume`. */
  async messages(owner: string, chatName: string): Promise<UIMessage[]> {
    const { id: chat } = await this.#requireChat(owner, chatName);
    const running = this.#turns.running(chat)?.id;
    const entries = (await this.#store.read(chat)).filter(({ turn, kind }) => turn !== running || kind === "begin");
    return logToMessages(entries, await this.#store.listApprovals({ chat }), (error) =>
      this.#logger.error("A turn in the log cannot be read.", { chat, error: describeError(error) }),
    );
  }

  /** The owner's approvals. Those that wait, asked for without a chat, include those of others that the actor may decide. */
  async approvals(
    who: OwnerOrIdentity,
    filter: { chat?: string; state?: ApprovalState },
  ): Promise<{ approvals: ApprovalView[]; sequence: number; running: boolean }> {
    const { owner, actor } = toIdentity(who);
    const chat = filter.chat === undefined ? undefined : await this.#store.findChat(owner, filter.chat);
    if (filter.chat !== undefined && !chat) return { approvals: [], sequence: 0, running: false };
    const own = await this.#store.listApprovals({ owner, chat: chat?.id, state: filter.state });
    const others = !chat && filter.state === "pending" ? await this.#decidableOfOthers(owner, actor) : [];
    const rows =
      others.length === 0 ? own : [...own, ...others].toSorted((one, other) => one.createdAt - other.createdAt);
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
    this.#sweeping ??= this.#settlement
      .settleDue()
      .catch((error: unknown) =>
        this.#logger.error("Looking for due approvals failed.", { error: describeError(error) }),
      )
      .finally(() => (this.#sweeping = undefined));
    return this.#sweeping;
  }

  /** Stops turns and timers, and gives running tools a moment to end. Does not close the store. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#policies.close();
    await this.#turns.close();
    await this.#conversations.closeAll();
    await this.#sweeping;
    let isIdle = false;
    await atMost(
      closingMs,
      this.#executor.idle().then(() => (isIdle = true)),
    );
    // Closing its toolset would end a call that still runs, and its outcome would be recorded as a failure.
    if (isIdle) await this.#toolsets.close();
    this.#executor.close();
  }

  async #decidableOfOthers(owner: string, actor: string): Promise<Approval[]> {
    if (!this.#authorizer.hasHook) return [];
    const pending = await this.#store.listApprovals({ state: "pending", newest: maxOthers });
    return this.#authorizer.decidable(
      actor,
      pending.filter((row) => row.owner !== owner && row.gated),
    );
  }

  async #requireChat(owner: string, name: string): Promise<Session> {
    const chat = await this.#store.findChat(owner, name);
    if (!chat) throw unknownChat(name);
    return chat;
  }
}
