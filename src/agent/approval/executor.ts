import type { Approval, Store } from "../../stores/index.ts";
import type { PreparedCall, ToolCalls } from "../adk/tool-calls.ts";
import type { ToolOutcome } from "../adk/tool-result.ts";
import { describeError, type Logger } from "../support/index.ts";
import type { ToolPolicies } from "./policy.ts";

export interface ExecutorOptions {
  store: Store;
  calls: ToolCalls;
  policies: ToolPolicies;
  /** How long a claim lasts unless it is renewed. */
  leaseMs: number;
  /** How long after its start a long-running tool may report its result. */
  waitMs: number;
  logger: Logger;
}

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
  readonly #leaseOwner = crypto.randomUUID();

  constructor(options: ExecutorOptions) {
    this.#options = options;
  }

  /** Runs an approved call. Returns the row afterwards; if another process has the claim, the row as it is. */
  execute(approval: Approval): Promise<Approval> {
    return this.#once(approval, () => this.#claimAndRun(approval, "claim"));
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

  /** Settles a call whose process died while it ran. The tool's effect class says how. */
  recover(approval: Approval): Promise<Approval> {
    return this.#once(approval, async () => {
      const { store, calls, policies, logger } = this.#options;
      const { lookup } = policies.get(approval.toolName) ?? {};
      if (approval.effect === "queryable" && lookup) {
        const outcome = await lookup(approval.idempotencyKey).catch((error: unknown) => {
          logger.error("Looking up an interrupted call failed.", {
            approval: approval.id,
            error: describeError(error),
          });
          return "unknown" as const;
        });
        if (outcome === "unknown") return approval;
        if (outcome) return this.#takeOver(approval, { event: "succeed", outcome });
      }
      // An agent run as a tool is claimed after it has finished, so its result is in its session.
      if (approval.innerSession !== undefined)
        return this.#takeOver(approval, await calls.readAgentOutcome(approval, approval.innerSession));
      const isRepeatable = approval.effect === "queryable" ? lookup !== undefined : approval.effect !== "opaque";
      if (isRepeatable && !approval.external) return this.#claimAndRun(approval, "reclaim");
      return (await store.move(approval.id, { event: "lose" })).approval ?? approval;
    });
  }

  /** Records a result from outside: from a browser tool, a long-running tool, or an agent. Accepted once. */
  async settle(approval: Approval, result: ToolOutcome): Promise<Approval> {
    const claim = await this.#options.store.move(approval.id, { event: "claim", ...this.#lease() });
    const row = claim.approval ?? approval;
    // An approved long-running tool was claimed by its own attempt, and waits in `executing` for its result.
    return claim.moved || row.state === "executing" ? this.#finish(row, result) : row;
  }

  #once(approval: Approval, run: () => Promise<Approval>): Promise<Approval> {
    const running = this.#attempts.get(approval.id);
    if (running) return running;
    const attempt = run().finally(() => {
      this.#attempts.delete(approval.id);
      this.#toolNames.delete(approval.id);
    });
    this.#toolNames.set(approval.id, approval.toolName);
    this.#attempts.set(approval.id, attempt);
    // Nothing may be waiting for the attempt yet when it fails.
    attempt.catch(() => undefined);
    return attempt;
  }

  /** Records the outcome of a call whose claim has lapsed. */
  async #takeOver(approval: Approval, result: ToolOutcome): Promise<Approval> {
    const claim = await this.#options.store.move(approval.id, { event: "reclaim", ...this.#lease() });
    return claim.moved && claim.approval ? this.#finish(claim.approval, result) : (claim.approval ?? approval);
  }

  #lease() {
    return { leaseOwner: this.#leaseOwner, leaseMs: this.#options.leaseMs };
  }

  /**
   * Everything that does not need the claim happens before it, above all finding the tool, which may take a network request:
   * if the process dies in there, the call has certainly not run.
   */
  async #claimAndRun(approval: Approval, event: "claim" | "reclaim"): Promise<Approval> {
    const { store, calls, waitMs } = this.#options;
    const call = await calls.prepare(approval).catch((error: unknown) => failure(error));
    const claim = await store.move(approval.id, { event, ...this.#lease() });
    if (!claim.moved || !claim.approval) return claim.approval ?? approval;
    const claimed = claim.approval;
    const result = "run" in call ? await this.#runUnderLease(claimed, call) : call;
    if (result) return this.#finish(claimed, result);
    // A long-running tool has begun. Its result will be reported.
    await store.renewLease(claimed.id, claimed.fence, waitMs);
    return (await store.getApproval(claimed.id)) ?? claimed;
  }

  async #runUnderLease({ id, fence }: Approval, call: PreparedCall): Promise<ToolOutcome | undefined> {
    const { store, leaseMs, logger } = this.#options;
    const renewal = setInterval(
      () =>
        void store
          .renewLease(id, fence, leaseMs)
          .catch((error: unknown) =>
            logger.error("A lease could not be renewed.", { approval: id, error: describeError(error) }),
          ),
      leaseMs / 3,
    );
    // A tool that hangs must not keep the process alive after the bridge has closed.
    renewal.unref();
    try {
      return await call.run();
    } finally {
      clearInterval(renewal);
    }
  }

  async #finish({ id, fence }: Approval, result: ToolOutcome): Promise<Approval> {
    const { approval } = await this.#options.store.move(id, { ...result, fence });
    if (!approval) throw new Error(`Approval ${id} is gone.`);
    return approval;
  }
}

function failure(error: unknown): ToolOutcome {
  return { event: "fail", outcome: { error: describeError(error) } };
}
