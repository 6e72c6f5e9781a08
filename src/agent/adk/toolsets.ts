import { type BaseAgent, type BaseTool, isBaseTool, isBaseToolset, isLlmAgent } from "@google/adk";
import { atMost } from "../support/index.ts";
import { agentsBelow, hasKnownTools } from "./agents.ts";
import { bringerOf, GuardedToolset, type GuardOptions } from "./guarded-toolset.ts";
import { taskCompleted } from "./missing-tool.ts";

/** The tool by which ADK hands a conversation to another agent. */
const transferTool = "transfer_to_agent";
/** Tools that ADK itself adds to requests. They change nothing outside the conversation. */
const controlTools: ReadonlySet<string> = new Set([transferTool, taskCompleted, "set_model_response", "finish_task"]);
/** How long closing waits for toolsets. */
const closingMs = 2000;

/**
 * Where a tool comes from. `agent`: the agent lists it. `toolset`: a toolset brought it. `adk`: ADK added it, to control the
 * conversation. `unknown`: something else added it to the request, for example a plugin.
 */
export type ToolOrigin = "agent" | "toolset" | "adk" | "unknown";

export interface ToolsetsOptions extends Pick<GuardOptions, "logger" | "listMs" | "pauseMs"> {
  agent: BaseAgent;
}

/** Which toolset brings which tools, as it was found out in one go. */
export interface Listing {
  /** The names of all tools, also of those that the agents list themselves. */
  names: ReadonlySet<string>;
  /** The toolsets that could be listed. */
  listed: readonly { agent: string; prefix: string | undefined; names: ReadonlySet<string> }[];
  /** The agents that have a toolset which could not be listed. */
  away: readonly string[];
  /** True when `names` has every tool. Agents of plain code may have tools that cannot be listed. */
  isComplete: boolean;
  /** True when the toolset that brought this tool could be listed. False for a tool whose toolset is not known. */
  covers(tool: BaseTool): boolean;
}

/** The tools below an agent: where each comes from, and what the toolsets bring. */
export class Toolsets {
  readonly #options: ToolsetsOptions;
  readonly #agents = new Set<BaseAgent>();
  readonly #toolsets = new Set<GuardedToolset>();
  #isUsed = false;
  #listing: Promise<Listing> | undefined;

  constructor(options: ToolsetsOptions) {
    this.#options = options;
    for (const agent of agentsBelow(options.agent)) this.#add(agent);
  }

  /** True when an agent lists a tool of this name, or a toolset brought one when it was last listed. */
  has(name: string): boolean {
    return this.#ownNames.has(name) || [...this.#toolsets].some(({ names }) => names.has(name));
  }

  /** True when a tool of this name is not, or not only, one that an agent lists itself. */
  mayBring(name: string): boolean {
    return !this.#ownNames.has(name) || [...this.#toolsets].some(({ names }) => names.has(name));
  }

  /** Lists all toolsets at once. Takes at most the time limit of one. */
  list(): Promise<Listing> {
    this.#listing ??= this.#listNow().finally(() => (this.#listing = undefined));
    return this.#listing;
  }

  /** Where a tool in a request of this agent comes from. */
  originOf(tool: BaseTool, agent: BaseAgent | undefined): ToolOrigin {
    if (bringerOf(tool)) return "toolset";
    // An agent of plain code may run agents that are not below it.
    if (agent && !this.#agents.has(agent)) this.#add(agent);
    if (agent && isLlmAgent(agent) && agent.tools.includes(tool)) return tool.name === taskCompleted ? "adk" : "agent";
    return controlTools.has(tool.name) ? "adk" : "unknown";
  }

  /** From now on the toolsets are used, until `close`. */
  use(): void {
    this.#isUsed = true;
    for (const toolset of this.#toolsets) toolset.use(this);
  }

  /** Closes the toolsets that nothing else uses. ADK would do that after each run by request (K26). */
  async close(): Promise<void> {
    await atMost(closingMs, Promise.allSettled([...this.#toolsets].map((toolset) => toolset.closeToolset(this))));
  }

  get #ownNames(): Set<string> {
    const tools = [...this.#agents].flatMap((agent) => (isLlmAgent(agent) ? agent.tools : []));
    return new Set([transferTool, ...tools.flatMap((tool) => (isBaseTool(tool) ? [tool.name] : []))]);
  }

  async #listNow(): Promise<Listing> {
    const toolsets = [...this.#toolsets];
    const lists = await Promise.all(toolsets.map((toolset) => toolset.list()));
    const found = toolsets.map((toolset, index) => ({ toolset, names: lists[index] }));
    const away = new Set(found.filter(({ names }) => names === undefined).map(({ toolset }) => toolset));
    const listed = found.flatMap(({ toolset: { agent, prefix }, names }) => (names ? [{ agent, prefix, names }] : []));
    return {
      names: new Set([...this.#ownNames, ...listed.flatMap(({ names }) => [...names])]),
      listed,
      away: [...away].map(({ agent }) => agent),
      isComplete: away.size === 0 && [...this.#agents].every((agent) => hasKnownTools(agent)),
      covers(tool) {
        const bringer = bringerOf(tool);
        return bringer !== undefined && !away.has(bringer);
      },
    };
  }

  /** Takes an agent's tools in, and puts a guard in front of each of its toolsets. */
  #add(agent: BaseAgent): void {
    this.#agents.add(agent);
    if (!isLlmAgent(agent)) return;
    agent.tools = agent.tools.map((tool) => {
      if (!isBaseToolset(tool)) return tool;
      const guarded = tool instanceof GuardedToolset ? tool : guard(tool, { ...this.#options, agent: agent.name });
      this.#toolsets.add(guarded);
      if (this.#isUsed) guarded.use(this);
      return guarded;
    });
  }
}

const guards = new WeakMap<object, GuardedToolset>();

/** Agents that share a toolset, and bridges that share an agent, share its guard. */
function guard(toolset: ConstructorParameters<typeof GuardedToolset>[0], options: GuardOptions): GuardedToolset {
  const known = guards.get(toolset) ?? new GuardedToolset(toolset, options);
  guards.set(toolset, known);
  return known;
}
