import {
  type BaseAgent,
  type BaseTool,
  Context,
  type Event,
  InvocationContext,
  isAgentTool,
  type LlmAgent,
  isLlmAgent,
  ReadonlyContext,
  type Runner,
  ToolConfirmation,
} from "@google/adk";
import type { Approval, JsonObject, Store } from "../stores/index.ts";
import { agentOutcome } from "./agents.ts";
import type { Gate } from "./gate.ts";
import { setIdempotencyKey } from "./idempotency-key.ts";
import { describeError, type Logger } from "./logger.ts";
import type { ToolPolicies } from "./tool-policy.ts";
import { dropUnwritable, toObject } from "./tool-result.ts";

/**
 * Runs approved calls: prepare, claim, run, record. One place for every way a call can be reached (an answer in the chat, another
 * tab, recovery after a crash), so that the claim is the only thing that decides who runs it.
 */
export class Executor {
  readonly #options: ExecutorOptions;
  /** Attempts under way in this process, so that a second caller waits for the first one's outcome. */
  readonly #attempts = new Map<string, Promise<Approval>>();
  readonly #leaseOwner = crypto.randomUUID();

  constructor(options: ExecutorOptions) {
    this.#options = options;
  }

  /** The row after the attempt; the row as it is when somebody else has the claim. */
  execute(approval: Approval): Promise<Approval> {
    return this.#once(approval, async () => this.#claim(approval, "claim"));
  }

  /** The attempt under way in this process, if any. */
  attempt(id: string): Promise<Approval> | undefined {
    return this.#attempts.get(id);
  }

  /** When no attempt is under way in this process any more. */
  async idle(): Promise<void> {
    while (this.#attempts.size > 0) await Promise.allSettled(this.#attempts.values());
  }

  /** A call whose process died in the middle: what happens next is what its tool declared. */
  recover(approval: Approval): Promise<Approval> {
    return this.#once(approval, async () => {
      const { store, tools, logger } = this.#options;
      const { lookup } = tools.get(approval.toolName) ?? {};
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
      // An agent run as a tool is claimed when it is done: what it said is in its session.
      if (approval.innerSession !== undefined)
        return this.#takeOver(approval, await this.#readInner(approval, approval.innerSession));
      const repeatable = approval.effect !== "opaque" && !(approval.effect === "queryable" && !lookup);
      if (repeatable && !approval.external) return this.#claim(approval, "reclaim");
      const lost = await store.move(approval.id, { event: "lose" });
      return lost.approval ?? approval;
    });
  }

  /** An answer from outside: a browser tool's result, an inner agent's reply. Accepted once, and only when approved. */
  async settle(approval: Approval, result: Finish): Promise<Approval> {
    const claim = await this.#options.store.move(approval.id, { event: "claim", ...this.#lease() });
    const row = claim.approval ?? approval;
    // A long-running tool that was approved has been claimed by its own attempt, and waits like this for its result.
    return claim.moved || row.state === "executing" ? this.#finish(row, result) : row;
  }

  #once(approval: Approval, run: () => Promise<Approval>): Promise<Approval> {
    const running = this.#attempts.get(approval.id);
    if (running) return running;
    const attempt = run().finally(() => this.#attempts.delete(approval.id));
    this.#attempts.set(approval.id, attempt);
    // Whoever wants the outcome may not be waiting yet when it fails.
    attempt.catch(() => undefined);
    return attempt;
  }

  /** Finishes a claim that its process left behind. */
  async #takeOver(approval: Approval, result: Finish): Promise<Approval> {
    const claim = await this.#options.store.move(approval.id, { event: "reclaim", ...this.#lease() });
    return claim.moved && claim.approval ? this.#finish(claim.approval, result) : (claim.approval ?? approval);
  }

  async #readInner(approval: Approval, innerSession: string): Promise<Finish> {
    const { agent } = await this.#options.host(approval);
    const tool = await findTool(agent, approval.toolName);
    if (!isAgentTool(tool)) throw new Error(`${approval.toolName} is not an agent any more.`);
    const events = await this.#options.store.events(innerSession);
    return agentOutcome(
      tool,
      events.map(({ event }) => event as unknown as Event),
    );
  }

  #lease() {
    return { leaseOwner: this.#leaseOwner, leaseMs: this.#options.leaseMs };
  }

  /**
   * Everything that can be done without the claim is done before it, above all finding the tool, which may be asked for
   * over a network: of a process that dies in there everybody knows that nothing has run.
   */
  async #claim(approval: Approval, event: "claim" | "reclaim"): Promise<Approval> {
    const { store } = this.#options;
    const call = await this.#prepare(approval).catch((error: unknown) => toFailure(error));
    const claim = await store.move(approval.id, { event, ...this.#lease() });
    if (!claim.moved || !claim.approval) return claim.approval ?? approval;
    const claimed = claim.approval;
    const renewal = setInterval(
      () =>
        void store.renewLease(claimed.id, claimed.fence, this.#options.leaseMs).catch((error: unknown) =>
          this.#options.logger.error("A lease could not be renewed.", {
            approval: claimed.id,
            error: describeError(error),
          }),
        ),
      this.#options.leaseMs / 3,
    );
    let result: Finish | undefined;
    try {
      result = "tool" in call ? await this.#run(claimed, call) : call;
    } finally {
      clearInterval(renewal);
    }
    if (result) return this.#finish(claimed, result);
    await store.renewLease(claimed.id, claimed.fence, this.#options.waitMs);
    return (await store.getApproval(claimed.id)) ?? claimed;
  }

  async #finish({ id, fence }: Approval, result: Finish): Promise<Approval> {
    const { approval } = await this.#options.store.move(id, { ...result, fence });
    if (!approval) throw new Error(`Approval ${id} is gone.`);
    return approval;
  }

  async #prepare(approval: Approval): Promise<Call> {
    const { agent, runner } = await this.#options.host(approval);
    const session = await runner.sessionService.getSession({
      appName: runner.appName,
      userId: approval.owner,
      sessionId: approval.session,
    });
    if (!session) throw new Error("The session of this call is gone.");
    const invocationContext = new InvocationContext({
      sessionService: runner.sessionService,
      memoryService: runner.memoryService,
      credentialService: runner.credentialService,
      invocationId: `x-${approval.id}`,
      agent,
      branch: approval.branch,
      session,
      pluginManager: runner.pluginManager,
      runConfig: {},
    });
    const tool = await findTool(agent, approval.toolName, new ReadonlyContext(invocationContext));
    if (isAgentTool(tool)) throw new Error("An agent's tool is run by its turn.");
    const context = new Context({
      invocationContext,
      functionCallId: approval.toolCallId,
      toolConfirmation: new ToolConfirmation({ confirmed: true, hint: approval.hint, payload: approval.payload }),
    });
    this.#options.gate.pass(context);
    setIdempotencyKey(context, approval.idempotencyKey);
    return { agent, tool, context, args: JSON.parse(approval.input) as Record<string, unknown> };
  }

  /** What became of the call; undefined where a long-running tool has only begun. */
  async #run(approval: Approval, call: Call): Promise<Finish | undefined> {
    const { tool, context } = call;
    try {
      const result = await callTool(call, this.#options.logger);
      if (approval.toolCallId in context.actions.requestedToolConfirmations)
        throw new Error("The tool asked for a second approval, which is not supported.");
      if (tool.isLongRunning && result == null) return undefined;
      return { event: "succeed", outcome: toObject(result), stateDelta: this.#stateDelta(approval, context) };
    } catch (error) {
      return { ...toFailure(error), stateDelta: this.#stateDelta(approval, context) };
    }
  }

  /** The tool has run: state that is not JSON must not keep its outcome from being recorded. */
  #stateDelta(approval: Approval, context: Context): JsonObject {
    const lost = dropUnwritable(context);
    if (lost > 0)
      this.#options.logger.warn("State a tool left could not be written as JSON.", { approval: approval.id, lost });
    return { ...context.actions.stateDelta };
  }
}

/** A call that only waits for its claim. */
interface Call {
  agent: LlmAgent;
  tool: BaseTool;
  context: Context;
  args: Record<string, unknown>;
}

type Finish = { event: "succeed" | "fail"; outcome: JsonObject; stateDelta?: JsonObject };

export interface ExecutorOptions {
  store: Store;
  gate: Gate;
  tools: ToolPolicies;
  leaseMs: number;
  /** How long a long-running tool may take to be settled after it has begun. */
  waitMs: number;
  logger: Logger;
  /** The agent that made the call, and the runner of its session. */
  host(approval: Approval): Promise<{ agent: LlmAgent; runner: Runner }>;
}

/** A tool by name, or a sentence about its absence: a tool that is gone is never guessed. */
export async function findTool(agent: LlmAgent, name: string, context?: ReadonlyContext): Promise<BaseTool> {
  const tool = (await agent.canonicalTools(context)).find((candidate) => candidate.name === name);
  if (!tool) throw new Error(`The agent ${agent.name} no longer has a tool named ${name}.`);
  return tool;
}

export function requireLlmAgent(agent: BaseAgent | undefined, name: string): LlmAgent {
  if (!agent || !isLlmAgent(agent)) throw new Error(`The agent ${name} that made this call is gone.`);
  return agent;
}

/** The tool with the callbacks ADK would have run around it: other plugins' first, then the agent's own. */
async function callTool({ agent, tool, args, context }: Call, logger: Logger): Promise<unknown> {
  const { pluginManager } = context.invocationContext;
  const call = { tool, toolArgs: args, toolContext: context };
  let result: unknown = await pluginManager.runBeforeToolCallback(call);
  for (const callback of result == null ? agent.canonicalBeforeToolCallbacks : []) {
    result = await callback({ tool, args, context });
    if (result) break;
  }
  result ??= await tool.runAsync({ args, toolContext: context }).catch(async (error: unknown) => {
    const handled = error instanceof Error ? await pluginManager.runOnToolErrorCallback({ ...call, error }) : undefined;
    if (handled == null) throw error;
    return handled;
  });
  const response = result as Record<string, unknown>;
  try {
    let altered: unknown = await pluginManager.runAfterToolCallback({ ...call, result: response });
    for (const callback of altered == null ? agent.canonicalAfterToolCallbacks : []) {
      altered = await callback({ tool, args, context, response });
      if (altered) break;
    }
    return altered ?? result;
  } catch (error) {
    // The tool has run: whoever looks at its result must not turn that into a failure.
    logger.error("A callback behind a tool threw; the tool's own result stands.", {
      tool: tool.name,
      error: describeError(error),
    });
    return result;
  }
}

function toFailure(error: unknown): Finish {
  return { event: "fail", outcome: { error: describeError(error) } };
}
