import {
  type AgentTool,
  type BaseAgent,
  type BaseTool,
  isAgentTool,
  isBaseAgent,
  isBaseTool,
  isLlmAgent,
  isLoopAgent,
  isParallelAgent,
  isSequentialAgent,
  type LlmAgent,
  type ReadonlyContext,
} from "@google/adk";
import { agentOf } from "./agent-tool.ts";
import { isReserved } from "./history.ts";

/** The tree of agents below a root, and their tools. */

/** Throws for a tool whose name ADK uses itself: its calls would be invisible, and could not be gated. */
export function refuseReservedTools(root: BaseAgent): void {
  const names = agentsBelow(root)
    .flatMap(toolsOf)
    .flatMap((tool) => (isBaseTool(tool) && isReserved(tool.name) ? [tool.name] : []));
  if (names.length > 0)
    throw new Error(`Names that begin with adk_request_ are reserved by ADK. Rename the tool ${names.join(", ")}.`);
}

/** Throws unless the value is an agent that the bridge can run. */
export function requireAgent(agent: unknown): asserts agent is BaseAgent {
  if (!isBaseAgent(agent)) throw new Error("createBridge needs a BaseAgent; Workflow roots are not supported.");
}

/** A tool by name. Throws when the agent does not have it: a missing tool is never guessed. */
export async function findTool(agent: LlmAgent, name: string, context?: ReadonlyContext): Promise<BaseTool> {
  const tool = (await agent.canonicalTools(context)).find((candidate) => candidate.name === name);
  if (!tool) throw new Error(`The agent ${agent.name} no longer has a tool named ${name}.`);
  return tool;
}

/** A tool that the agent has itself, without a toolset. Looking for it cannot take long. */
export function findOwnTool(agent: LlmAgent, name: string): BaseTool | undefined {
  return agent.tools.filter(isBaseTool).find((tool) => tool.name === name);
}

/** An agent that is run as a tool, by the tool's name. */
export async function findAgentTool(agent: LlmAgent, name: string): Promise<AgentTool> {
  const tool = findOwnTool(agent, name) ?? (await findTool(agent, name));
  if (!isAgentTool(tool)) throw new Error(`The tool ${name} of ${agent.name} does not run an agent.`);
  return tool;
}

/** The agent below `root` that made a call. */
export function findCaller(root: BaseAgent, name: string): LlmAgent {
  const agent = root.findAgent(name);
  if (!agent || !isLlmAgent(agent)) throw new Error(`The agent ${name} that made this call is gone.`);
  return agent;
}

/**
 * The agents that come after the named one in sequences. ADK resumes only the agent that made the call, so these have to
 * be started separately.
 */
export function laterInSequence(root: BaseAgent, name: string): BaseAgent[] {
  const later: BaseAgent[] = [];
  for (let agent = root.findAgent(name); agent?.parentAgent; agent = agent.parentAgent) {
    const { parentAgent } = agent;
    if (!isSequentialAgent(parentAgent)) continue;
    later.push(...parentAgent.subAgents.slice(parentAgent.subAgents.indexOf(agent) + 1));
  }
  return later;
}

/** True when the agent runs below a `LoopAgent`. */
export function isInLoop(agent: BaseAgent | undefined): boolean {
  for (let parent = agent?.parentAgent; parent; parent = parent.parentAgent) if (isLoopAgent(parent)) return true;
  return false;
}

/** The name of the model an agent talks to: its own, or that of its first sub-agent that has one. */
export function modelName(agent: BaseAgent): string {
  if (isLlmAgent(agent)) return agent.canonicalModel.model;
  return agent.subAgents.map(modelName).find((name) => name !== "") ?? "";
}

/** Every agent that is run as a tool somewhere below `root`. */
export function agentTools(root: BaseAgent): AgentTool[] {
  return agentsBelow(root)
    .flatMap(toolsOf)
    .filter((tool): tool is AgentTool => isBaseTool(tool) && isAgentTool(tool));
}

/**
 * Throws for a policy whose tool no agent has: probably a typo, which would leave the real tool ungated. Toolsets and
 * agents of plain code may bring tools that cannot be listed here; with one of those, every name is accepted.
 */
export function refuseUnknownTools(root: BaseAgent, names: readonly string[]): void {
  const agents = agentsBelow(root);
  const tools = agents.flatMap(toolsOf);
  const isKnown = (agent: BaseAgent) =>
    isLlmAgent(agent) || isSequentialAgent(agent) || isLoopAgent(agent) || isParallelAgent(agent);
  if (!tools.every(isBaseTool) || !agents.every(isKnown)) return;
  const known = new Set(tools.map(({ name }) => name).concat("transfer_to_agent"));
  const unknown = names.filter((name) => !known.has(name));
  if (unknown.length > 0)
    throw new Error(`No agent has a tool named ${unknown.join(", ")}. There are: ${[...known].toSorted().join(", ")}.`);
}

/** `root` and every agent below it, including those that are run as tools. */
function agentsBelow(root: BaseAgent): BaseAgent[] {
  const seen = new Set<BaseAgent>();
  const visit = (agent: BaseAgent) => {
    if (seen.has(agent)) return;
    seen.add(agent);
    for (const tool of toolsOf(agent)) if (isBaseTool(tool) && isAgentTool(tool)) visit(agentOf(tool));
    for (const child of agent.subAgents) visit(child);
  };
  visit(root);
  return [...seen];
}

/** The tools and toolsets of an agent itself. */
function toolsOf(agent: BaseAgent): LlmAgent["tools"] {
  return isLlmAgent(agent) ? agent.tools : [];
}
