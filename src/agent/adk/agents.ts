import {
  type AgentTool,
  type BaseAgent,
  isAgentTool,
  isBaseAgent,
  isBaseTool,
  isBaseToolset,
  isLlmAgent,
  isLoopAgent,
  isParallelAgent,
  isSequentialAgent,
  type LlmAgent,
} from "@google/adk";
import { agentOf } from "./agent-tool.ts";
import { findTool } from "./find-tool.ts";

/** The tree of agents below a root, and their tools. */

/** Throws unless the value is an agent that the bridge can run. */
export function requireAgent(agent: unknown): asserts agent is BaseAgent {
  if (!isBaseAgent(agent)) throw new Error("createBridge needs a BaseAgent; Workflow roots are not supported.");
}

/** An agent that is run as a tool, by the tool's name. */
export async function findAgentTool(agent: LlmAgent, name: string): Promise<AgentTool> {
  const tool = await findTool(agent, name);
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

/**
 * The name of the model an agent talks to: its own, or that of its first sub-agent that has one. Never throws: a model that
 * cannot be made, for example without a key, is an error of the request that needs it.
 */
export function modelName(agent: BaseAgent): string {
  if (isLlmAgent(agent)) {
    try {
      return agent.canonicalModel.model;
    } catch {
      return typeof agent.model === "string" ? agent.model : "";
    }
  }
  return agent.subAgents.map(modelName).find((name) => name !== "") ?? "";
}

/** Every agent that is run as a tool somewhere below `root`. */
export function agentTools(root: BaseAgent): AgentTool[] {
  return agentsBelow(root)
    .flatMap(toolsOf)
    .filter((tool): tool is AgentTool => isBaseTool(tool) && isAgentTool(tool));
}

/** True when the tools of an agent are those in `tools`. Agents of plain code may run other agents, with other tools. */
export function hasKnownTools(agent: BaseAgent): boolean {
  if (isLlmAgent(agent)) return agent.tools.every((tool) => isBaseTool(tool) || isBaseToolset(tool));
  return isSequentialAgent(agent) || isLoopAgent(agent) || isParallelAgent(agent);
}

/** `root` and every agent below it, including those that are run as tools. */
export function agentsBelow(root: BaseAgent): BaseAgent[] {
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
