import {
  type AgentTool,
  type BaseAgent,
  type Event,
  isAgentTool,
  isBaseTool,
  isLlmAgent,
  isLoopAgent,
  isParallelAgent,
  isSequentialAgent,
  type LlmAgent,
} from "@google/adk";
import type { JsonObject } from "../stores/index.ts";
import { lastText } from "./history.ts";

/** The agent behind an `AgentTool`; ADK keeps it private. */
export function agentOf(tool: AgentTool): BaseAgent {
  return (tool as unknown as { agent: BaseAgent }).agent;
}

/** What an agent run as a tool is asked, in the words `AgentTool` itself would use. */
export function agentRequest(tool: AgentTool, args: JsonObject): string {
  const agent = agentOf(tool);
  const { request } = args;
  return typeof request === "string" && request && !(isLlmAgent(agent) && agent.inputSchema)
    ? request
    : JSON.stringify(args);
}

/** What it answers: its last words, as data where it has a schema for them, and what it left in the state. */
export function agentOutcome(
  tool: AgentTool,
  events: readonly Event[],
): { event: "succeed" | "fail"; outcome: JsonObject; stateDelta: JsonObject } {
  const agent = agentOf(tool);
  const stateDelta = Object.assign({}, ...events.map(({ actions }) => actions?.stateDelta)) as JsonObject;
  const { errorCode, errorMessage, content } = events.at(-1) ?? {};
  if (errorCode && !content)
    return {
      event: "fail",
      outcome: { error: `The agent ${agent.name} failed: ${errorMessage ?? errorCode}` },
      stateDelta,
    };
  const said = lastText(events);
  const result: unknown = isLlmAgent(agent) && agent.outputSchema ? parsed(said) : said;
  const isObject = typeof result === "object" && result !== null && !Array.isArray(result);
  return { event: "succeed", outcome: isObject ? (result as JsonObject) : { result }, stateDelta };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Every agent that is run as a tool somewhere below `root`. */
export function agentTools(root: BaseAgent): AgentTool[] {
  return agentsBelow(root)
    .flatMap(toolsOf)
    .filter((tool): tool is AgentTool => isBaseTool(tool) && isAgentTool(tool));
}

/**
 * A policy for a tool that is not there was meant for one that is, which would run unasked. Where a tool set may bring
 * any tool, or an agent of plain code may hide one, nobody can tell.
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

/** `root` and every agent below it, those that are run as tools too. */
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

/** The tools and tool sets of an agent itself. */
function toolsOf(agent: BaseAgent): LlmAgent["tools"] {
  return isLlmAgent(agent) ? agent.tools : [];
}
