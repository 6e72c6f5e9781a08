import { type AgentTool, type BaseAgent, isAgentTool, isBaseTool, isLlmAgent } from "@google/adk";

/** The agent behind an `AgentTool`; ADK keeps it private. */
export function agentOf(tool: AgentTool): BaseAgent {
  return (tool as unknown as { agent: BaseAgent }).agent;
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
