import {
  BaseToolset,
  type BaseTool,
  type Context,
  isBaseTool,
  isBaseToolset,
  type LlmRequest,
  type ReadonlyContext,
} from "@google/adk";
import { describeError, type Logger } from "../support/index.ts";

/** How long listing a toolset may take. After that it counts as away. */
const listMs = 10_000;
/** How long a toolset that took too long is left alone, so that it does not delay every request to the model. */
const pauseMs = 30_000;

export interface GuardOptions {
  logger: Logger;
  /** The agent that has the toolset, for the log. */
  agent: string;
  listMs?: number;
  pauseMs?: number;
}

/** The toolset that brought a tool. Tools are known by their object: two toolsets may use the same name. */
const bringers = new WeakMap<BaseTool, GuardedToolset>();

/** The toolset that brought this tool, if one did. */
export function bringerOf(tool: BaseTool): GuardedToolset | undefined {
  return bringers.get(tool);
}

/**
 * Takes the place of a toolset in an agent. Listing a toolset may hang or fail, and ADK lists all toolsets of an agent, one
 * after the other, before each request to the model. Here a listing has a time limit; a toolset that is away brings no
 * tools, and the other tools of the agent can be used. It also remembers which tools the toolset has brought.
 */
export class GuardedToolset extends BaseToolset {
  readonly agent: string;
  /** The toolset in whose place this one is. */
  readonly inner: BaseToolset;
  readonly #options: Required<GuardOptions>;
  readonly #users = new Set<object>();
  #names: ReadonlySet<string> = new Set();
  #awayUntil = 0;

  constructor(inner: BaseToolset, options: GuardOptions) {
    super(inner.toolFilter, inner.prefix);
    this.inner = inner;
    this.#options = { listMs, pauseMs, ...options };
    this.agent = options.agent;
  }

  /** The names of its tools in the latest listing, as the model calls them. */
  get names(): ReadonlySet<string> {
    return this.#names;
  }

  /** ADK's contract: without a context these are all tools; with one, those that may be used there. */
  override async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    return (await this.findTools(context)) ?? [];
  }

  /** The same, but undefined if the toolset is away. */
  findTools(context?: ReadonlyContext): Promise<BaseTool[] | undefined> {
    return this.#limited(async () => this.#note(await this.inner.getTools(context)));
  }

  /** The names of all its tools, listed now; undefined if the toolset is away. Takes at most the time limit. */
  list(): Promise<ReadonlySet<string> | undefined> {
    return this.#limited(async () => {
      const tools = this.#note(await this.inner.getTools());
      return new Set([...tools, ...(await additionalTools(this.inner))].map(({ name }) => name));
    });
  }

  override processLlmRequest(context: Context, request: LlmRequest): Promise<void> {
    return this.inner.processLlmRequest(context, request);
  }

  /**
   * Does nothing. K26: ADK closes the toolsets of an agent after each run by request, while calls of other chats may be
   * running through them.
   */
  override async close(): Promise<void> {}

  /** The toolset stays open while it has users: bridges may share an agent. */
  use(user: object): void {
    this.#users.add(user);
  }

  /** Closes the toolset itself, unless it has other users. */
  async closeToolset(user: object): Promise<void> {
    this.#users.delete(user);
    if (this.#users.size === 0) await this.inner.close();
  }

  async #limited<T>(work: () => Promise<T>): Promise<T | undefined> {
    if (performance.now() < this.#awayUntil) return undefined;
    const listing = work();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<typeof isLate>((resolve) => {
      timer = setTimeout(() => resolve(isLate), this.#options.listMs);
    });
    try {
      const result = await Promise.race([listing, late]);
      if (result !== isLate) return result;
      this.#awayUntil = performance.now() + this.#options.pauseMs;
      this.#warn(`It took longer than ${this.#options.listMs} ms.`);
      // It may fail when no one waits for it any more.
      listing.catch(() => undefined);
    } catch (error) {
      this.#warn(describeError(error));
    } finally {
      clearTimeout(timer);
    }
    return undefined;
  }

  #note(tools: BaseTool[]): BaseTool[] {
    for (const tool of tools) bringers.set(tool, this);
    this.#names = new Set(tools.map(({ name }) => name));
    this.#awayUntil = 0;
    return tools;
  }

  #warn(error: string): void {
    this.#options.logger.warn("A toolset could not be listed; its tools are away.", { agent: this.agent, error });
  }
}

const isLate = Symbol("late");

/** ADK's `SkillToolset` lists these tools only in a context in which their skill is active. */
async function additionalTools(toolset: BaseToolset & { additionalTools?: unknown }): Promise<BaseTool[]> {
  const tools = Array.isArray(toolset.additionalTools) ? (toolset.additionalTools as unknown[]) : [];
  const lists = tools.map(async (tool) => (isBaseToolset(tool) ? tool.getTools() : isBaseTool(tool) ? [tool] : []));
  return (await Promise.all(lists)).flat();
}
