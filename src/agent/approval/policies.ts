import { shownArguments } from "../adk/bound-arguments.ts";
import type { JudgedCall, RunScope } from "../adk/run-scope.ts";
import type { Listing, Toolsets } from "../adk/toolsets.ts";
import { atMost, describeError, type Logger } from "../support/index.ts";
import type { PolicyOptions, ToolPolicies, ToolPolicy } from "./policy.ts";
import { explainUnknownNames, isAlike } from "./policy-names.ts";

/** How long a policy may think about one call. */
const predicateMs = 10_000;
/** How often toolsets that could not be listed are tried again. */
const retryMs = 30_000;

export interface PoliciesOptions extends PolicyOptions {
  /** Where the tools come from. */
  inventory: Pick<Toolsets, "has" | "mayBring" | "originOf" | "list">;
  logger: Logger;
  predicateMs?: number;
  retryMs?: number;
}

type Run = Pick<RunScope, "owner" | "actor">;

/**
 * Decides which calls the server's own policies ask about. Three rules keep a tool from slipping through by its name:
 *
 *   a name in `tools` that no tool has is refused at the start, when every toolset could be listed then;
 *   until a toolset can be listed, calls of its tools are held if such a name is left;
 *   when a later listing shows such a name, all calls of tools that come from toolsets are held, except those named in `tools`.
 */
export class Policies implements ToolPolicies {
  readonly #options: PoliciesOptions;
  readonly #own: ReadonlyMap<string, ToolPolicy>;
  #retry: NodeJS.Timeout | undefined;
  #lastError: string | undefined;

  constructor(options: PoliciesOptions) {
    this.#options = options;
    this.#own = new Map(Object.entries(options.tools ?? {}));
  }

  /** What `tools` says about a tool, completed by `toolsets` if a toolset may bring it. */
  get(name: string): ToolPolicy | undefined {
    const { toolsets, inventory } = this.#options;
    const own = this.#own.get(name);
    if (!toolsets || !inventory.mayBring(name)) return own;
    const given = Object.entries(own ?? {}).filter(([, value]) => value !== undefined);
    return { ...toolsets, ...Object.fromEntries(given) };
  }

  /** True when a person has to be asked. Every policy can ask for it, and none can waive what another asks for. */
  async wantsApproval(call: JudgedCall, run: Run): Promise<boolean> {
    const { toolsets, unlisted, inventory } = this.#options;
    const own = this.#own.get(call.tool.name);
    const origin = inventory.originOf(call.tool, call.agent);
    const isBrought = origin === "toolset" || origin === "unknown";
    const shared = isBrought ? toolsets?.confirm : undefined;
    if ((await this.#asks(own?.confirm, call, run)) || (await this.#asks(shared, call, run))) return true;
    if (own || origin === "adk") return false;
    if (unlisted === "confirm" && !shared) return true;
    return isBrought && this.#isDoubtful(call);
  }

  /** Throws when a name in `tools` is certainly wrong. When that cannot be found out yet, it is found out later. */
  async start(): Promise<void> {
    if (this.#unmatched.length === 0) return;
    const listing = await this.#options.inventory.list();
    const unknown = this.#unknownIn(listing);
    if (unknown.length === 0) return;
    if (listing.isComplete) throw new Error(explainUnknownNames(unknown, listing));
    const { logger } = this.#options;
    const { away: agents } = listing;
    if (agents.length === 0)
      return logger.warn("An agent of plain code may have any tool, so these names are not checked.", {
        names: unknown,
      });
    logger.warn("Toolsets could not be listed; until they can be, calls of their tools are held.", {
      agents,
      names: unknown,
    });
    this.#tryAgain();
  }

  /** Ends what waits in the background. */
  close(): void {
    clearTimeout(this.#retry);
  }

  /** The names in `tools` that no tool had when it was last listed. */
  get #unmatched(): string[] {
    return [...this.#own.keys()].filter((name) => !this.#options.inventory.has(name));
  }

  #unknownIn({ names }: Listing): string[] {
    return [...this.#own.keys()].filter((name) => !names.has(name));
  }

  async #asks(confirm: ToolPolicy["confirm"], call: JudgedCall, run: Run): Promise<boolean> {
    if (typeof confirm !== "function") return Boolean(confirm);
    const { logger, predicateMs: ms = predicateMs } = this.#options;
    const tool = call.tool.name;
    // Undecided means yes. A predicate in plain JavaScript may return any value.
    let asks: unknown = true;
    const judge = async () => {
      const { owner } = run;
      const context = { tool, owner, actor: run.actor(), state: structuredClone(call.state()) };
      asks = await confirm(copyOf(call.args()), context);
    };
    let isOver = false;
    const judged = judge().then(
      () => (isOver = true),
      (error: unknown) => {
        isOver = true;
        logger.warn("The policy of a tool threw; its call is held.", { tool, error: describeError(error) });
      },
    );
    await atMost(ms, judged);
    if (!isOver) logger.warn("The policy of a tool did not decide in time; its call is held.", { tool, ms });
    return !isOver || Boolean(asks);
  }

  /** True when a name in `tools` may have been meant for this tool, which has another name. */
  async #isDoubtful({ tool }: JudgedCall): Promise<boolean> {
    if (this.#unmatched.length === 0) return false;
    const listing = await this.#options.inventory.list();
    const unknown = this.#report(listing);
    if (unknown.length === 0) return false;
    return listing.isComplete || !listing.covers(tool) || unknown.some((name) => isAlike(name, tool.name));
  }

  /** The names that no tool has. Says so in the log when that is certain. */
  #report(listing: Listing): string[] {
    const unknown = this.#unknownIn(listing);
    if (unknown.length === 0 || !listing.isComplete) return unknown;
    const error = explainUnknownNames(unknown, listing);
    if (error !== this.#lastError)
      this.#options.logger.error("A policy is for no tool; calls of tools that come from toolsets are held.", {
        error,
      });
    this.#lastError = error;
    return unknown;
  }

  #tryAgain(): void {
    this.#retry = setTimeout(() => {
      void this.#options.inventory.list().then((listing) => {
        if (this.#report(listing).length > 0 && !listing.isComplete) this.#tryAgain();
      });
    }, this.#options.retryMs ?? retryMs);
    this.#retry.unref();
  }
}

/** A copy of the arguments. Those with values that cannot be copied, such as a `URL`, are copied as the card shows them. */
function copyOf(args: Record<string, unknown>): Record<string, unknown> {
  try {
    return structuredClone(args);
  } catch {
    return shownArguments(args);
  }
}
