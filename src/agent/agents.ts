import { type AgentTool, type BaseAgent, type Event, isAgentTool, isBaseTool, isLlmAgent } from "@google/adk";
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
  const seen = new Set<BaseAgent>();
  const found: AgentTool[] = [];
  const visit = (agent: BaseAgent) => {
    if (seen.has(agent)) return;
    seen.add(agent);
    for (const tool of isLlmAgent(agent) ? agent.tools : [])
      if (isBaseTool(tool) && isAgentTool(tool)) {
        found.push(tool);
        visit(agentOf(tool));
      }
    for (const child of agent.subAgents) visit(child);
  };
  visit(root);
  return found;
}
