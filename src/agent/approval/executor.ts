import { BridgeError, type EffectClass, isNotFound } from "../../protocol/index.ts";
import type { Approval, Store } from "../../stores/index.ts";
import { ToolsAway } from "../adk/find-tool.ts";
import type { ToolCalls } from "../adk/tool-calls.ts";
import type { Beginning, ToolOutcome } from "../adk/tool-result.ts";
import { describeError, type Logger } from "../support/index.ts";
import type { ToolPolicies } from "./policy.ts";
import { recordSurely } from "./record-surely.ts";
import { runInTime, type Surrender } from "./run-in-time.ts";

export interface ExecutorOptions {
  store: Store;
  calls: ToolCalls;
  policies: ToolPolicies;
  /** How long a claim lasts unless it is renewed. */
  leaseMs: number;
  logger: Logger;
}

type Begin = (run: () => Promise<Approval>) => Promise<Approval>;

/**
 * Runs approved calls: prepare, claim, run, record. Every way to reach a call ends here (an answer in the chat, another tab,
 * recovery after a crash), so the claim alone decides who runs it.
 */
export class Executor {
  readonly #options: ExecutorOptions;
  /** Attempts of this process that have not ended; a second caller waits for the first one's outcome. */
  readonly #attempts = new Map<string, Promise<Approval>>();
  /** The tools of these attempts, by the approval's id. */
  readonly #toolNames = new Map<string, string>();
  /** Aborts the tools of these attempts, by the approval's id. */
  readonly #aborts = new Map<string, { chat: string; abort: AbortController }>();
  readonly #leaseOwner = crypto.randomUUID();
  readonly #closing = new AbortController();
  #onLateOutcome: (approval: Approval) => void = () => undefined;

  constructor(options: ExecutorOptions) {
    this.#options = options;
  }

  /** Calls back when a call has an outcome that no turn waits for any more. */
  subscribe(onLateOutcome: (approval: Approval) => void): void {
    this.#onLateOutcome = onLateOutcome;
  }

  /** Reports an outcome that no turn waits for any more. */
  announce(approval: Approval): void {
    this.#onLateOutcome(approval);
  }

  /**
   * Starts an approved call; `isJudged` if the gate has just found that no one needs to be asked about it. Returns the row
   * afterwards; if another process has the claim, the row as it is. `begin` may let the attempt wait, which counts from now
   * on: who waits for the call, or closes the bridge, waits for it too.
   */
  execute(
    approval: Approval,
    { isJudged = false, begin = (run) => run() }: { isJudged?: boolean; begin?: Begin } = {},
  ): Promise<Approval> {
    return this.#once(approval, () =>
      begin(() => (runsElsewhere(approval) ? this.#begin(approval) : this.#claimAndRun(approval, "claim", isJudged))),
    );
  }

  /** The attempt of this process that has not ended, if any. */
  attempt(id: string): Promise<Approval> | undefined {
    return this.#attempts.get(id);
  }

  /** The calls that have not ended. */
  get running(): { approval: string; tool: string }[] {
    return [...this.#toolNames].map(([approval, tool]) => ({ approval, tool }));
  }

  /** Resolves when this process has no attempt left. */
  async idle(): Promise<void> {
    while (this.#attempts.size > 0) await Promise.allSettled(this.#attempts.values());
  }

  /** Aborts the signals of the tools that run in a chat. They may end when they like, and their outcomes are dropped. */
  abandon(chat: string, reason: Error): void {
    for (const { chat: of, abort } of this.#aborts.values()) if (of === chat) abort.abort(reason);
  }

  /** Ends the attempts to record outcomes. */
  close(): void {
    this.#closing.abort(new BridgeError("unavailable", "The server is stopping."));
  }

  /** Settles a call whose process died while it ran. The tool's effect class says how. */
  recover(approval: Approval): Promise<Approval> {
    return this.#once(approval, async () => {
      const { store } = this.#options;
      const found = await this.#lookUp(approval);
      if (found === "unknown") return approval;
      if (found) return this.#takeOver(approval, found);
      // An agent run as a tool is claimed after it has finished, so its result is in its session.
      if (approval.innerSession !== undefined)
        return this.#takeOver(approval, await this.#readAgentOutcome(approval, approval.innerSession));
      const isRepeatable =
        approval.effect === "queryable" ? this.#lookupOf(approval) !== undefined : repeatable.has(approval.effect);
      if (isRepeatable && !approval.external) return this.#claimAndRun(approval, "reclaim");
      return (await store.move(approval.id, { event: "lose" })).approval ?? approval;
    });
  }

  /** Records what an agent that ran as a tool has said. Accepted once. */
  async finishAgent(approval: Approval, result: ToolOutcome): Promise<Approval> {
    const claim = await this.#options.store.move(approval.id, { event: "claim", ...this.#lease() });
    const row = claim.approval ?? approval;
    return claim.moved || row.state === "executing" ? this.#record(row, result) : row;
  }

  /** Records a result from outside: of a browser tool or a long-running tool. `taken` is true for one report only. */
  async report(approval: Approval, result: ToolOutcome): Promise<{ taken: boolean; approval: Approval }> {
    // The server may have stopped between the yes and the beginning.
    const row = approval.state === "approved" && runsElsewhere(approval) ? await this.execute(approval) : approval;
    const { moved, approval: after = row } = await this.#options.store.move(row.id, result);
    return { taken: moved, approval: after };
  }

  /** What an agent run as a tool has said. If that agent is gone, its call has failed; its own calls have their rows. */
  #readAgentOutcome(approval: Approval, innerSession: string): Promise<ToolOutcome> {
    return this.#options.calls.readAgentOutcome(approval, innerSession).catch((error: unknown) => {
      if (error instanceof ToolsAway) throw error;
      return failure(error);
    });
  }

  #once(approval: Approval, run: () => Promise<Approval>): Promise<Approval> {
    const running = this.#attempts.get(approval.id);
    if (running) return running;
    const attempt = run().finally(() => {
      this.#attempts.delete(approval.id);
      this.#toolNames.delete(approval.id);
      this.#aborts.delete(approval.id);
    });
    this.#toolNames.set(approval.id, approval.toolName);
    this.#attempts.set(approval.id, attempt);
    // Nothing may be waiting for the attempt yet when it fails.
    attempt.catch(() => undefined);
    return attempt;
  }

  /** A call that does not run here: from now on its result may be reported. */
  async #begin(approval: Approval): Promise<Approval> {
    return (await this.#options.store.move(approval.id, { event: "begin" })).approval ?? approval;
  }

  /** Records the outcome of a call whose claim has lapsed. */
  async #takeOver(approval: Approval, result: ToolOutcome): Promise<Approval> {
    const claim = await this.#options.store.move(approval.id, { event: "reclaim", ...this.#lease() });
    return claim.moved && claim.approval ? this.#record(claim.approval, result) : (claim.approval ?? approval);
  }

  #lease() {
    return { leaseOwner: this.#leaseOwner, leaseMs: this.#options.leaseMs };
  }

  /**
   * Everything that does not need the claim happens before it, above all finding the tool, which may take a network request:
   * if the process dies in there, the call has certainly not run.
   */
  async #claimAndRun(approval: Approval, event: "claim" | "reclaim", isJudged = false): Promise<Approval> {
    const { store, calls, logger } = this.#options;
    const aborting = new AbortController();
    this.#aborts.set(approval.id, { chat: approval.chat, abort: aborting });
    const call = await calls
      .prepare(approval, { signal: aborting.signal, isJudged })
      .catch((error: unknown) => (error instanceof ToolsAway ? error : failure(error)));
    if (call instanceof ToolsAway) {
      // The row stays as it is and is tried again, until its time to start is over.
      logger.warn("The tool of an approved call cannot be looked for now.", {
        approval: approval.id,
        error: call.message,
      });
      return (await store.getApproval(approval.id)) ?? approval;
    }
    // An earlier attempt may have taken effect, and this one cannot be made.
    if (event === "reclaim" && !("run" in call))
      return (await store.move(approval.id, { event: "lose" })).approval ?? approval;
    const claim = await store.move(approval.id, { event, ...this.#lease() });
    if (!claim.moved || !claim.approval) return claim.approval ?? approval;
    const claimed = claim.approval;
    if (!("run" in call)) return this.#record(claimed, call);
    const endLease = this.#keepLease(claimed);
    try {
      return await this.#record(claimed, await this.#runInTime(claimed, { ...call, abort: aborting }));
    } finally {
      endLease();
    }
  }

  /** Runs the tool within its time limit. What follows when that is over depends on the tool's effect class. */
  async #runInTime(
    claimed: Approval,
    call: { run: () => Promise<ToolOutcome | Beginning>; abort: AbortController },
  ): Promise<ToolOutcome | Beginning | Surrender> {
    const { calls, policies } = this.#options;
    const { timeoutMs } = policies.get(claimed.toolName) ?? {};
    return runInTime(call, {
      timeoutMs,
      effect: claimed.effect,
      again: async () => {
        const abort = new AbortController();
        return { ...(await calls.prepare(claimed, { signal: abort.signal, isJudged: true })), abort };
      },
      lookUp: () => this.#lookUp(claimed),
      onLate: (outcome) => void this.#recordLate(claimed, outcome),
    });
  }

  /** The outcome that the tool's own look-up finds. `unknown`: it cannot tell now. Undefined: the call had no effect. */
  async #lookUp(approval: Approval): Promise<ToolOutcome | "unknown" | undefined> {
    const lookup = this.#lookupOf(approval);
    if (!lookup) return undefined;
    try {
      const outcome = await lookup(approval.idempotencyKey);
      return outcome && { event: "succeed", outcome };
    } catch (error) {
      this.#options.logger.error("Looking up an interrupted call failed.", {
        approval: approval.id,
        error: describeError(error),
      });
      return "unknown";
    }
  }

  #lookupOf({ effect, toolName }: Approval) {
    return effect === "queryable" ? this.#options.policies.get(toolName)?.lookup : undefined;
  }

  /** Renews the lease until the returned function is called. */
  #keepLease({ id, fence }: Approval): () => void {
    const { store, leaseMs, logger } = this.#options;
    const renew = () =>
      store
        .renewLease(id, fence, leaseMs)
        .catch((error: unknown) =>
          logger.error("A lease could not be renewed.", { approval: id, error: describeError(error) }),
        );
    const renewal = setInterval(() => void renew(), leaseMs / 3);
    // A tool that hangs must not keep the process alive after the bridge has closed.
    renewal.unref();
    return () => clearInterval(renewal);
  }

  /** Records what became of an attempt. What is known is never dropped: a write that fails is tried again. */
  #record({ id, fence }: Approval, result: ToolOutcome | Beginning | Surrender): Promise<Approval> {
    return recordSurely(id, { ...result, fence }, { ...this.#options, signal: this.#closing.signal });
  }

  /** A tool that was given up has ended after all. */
  async #recordLate(claimed: Approval, outcome: ToolOutcome): Promise<void> {
    const { logger } = this.#options;
    try {
      this.announce(await this.#record(claimed, outcome));
    } catch (error) {
      if (isNotFound(error)) return;
      logger.error("A late outcome could not be recorded.", { approval: claimed.id, error: describeError(error) });
    }
  }
}

/** A class that only a later release knows is not among them. */
const repeatable: ReadonlySet<string> = new Set<EffectClass>(["readonly", "idempotent", "transactional"]);

/** True for a call that the server does not run itself: a browser does. */
export function runsElsewhere({ external, innerSession }: Pick<Approval, "external" | "innerSession">): boolean {
  return external && innerSession === undefined;
}

function failure(error: unknown): ToolOutcome {
  return { event: "fail", outcome: { error: describeError(error) } };
}
