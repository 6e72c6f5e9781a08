import {
  type BaseAgent,
  Gemini,
  InMemoryArtifactService,
  InMemoryMemoryService,
  isBaseTool,
  isLlmAgent,
  LogLevel,
  setLogLevel,
} from "@google/adk";
import { agentsBelow } from "./agents.ts";
import type { AdkServices } from "./runners.ts";

/** An agent as a development server shows it: its tools by name, without those that toolsets bring, and what is below it. */
export interface AgentOutline {
  name: string;
  /** The name of its own model; undefined if it uses that of its parent. */
  model: string | undefined;
  tools: string[];
  /** What its responses must fit, if it says so. */
  outputSchema?: unknown;
  agents: AgentOutline[];
}

/** The outline of an agent and of its sub-agents. */
export function outlineAgent(agent: BaseAgent): AgentOutline {
  const tools = isLlmAgent(agent) ? agent.tools.filter(isBaseTool).map(({ name }) => name) : [];
  const own = isLlmAgent(agent) ? agent.model : undefined;
  const model = typeof own === "object" ? own.model : own;
  const schema = isLlmAgent(agent) ? agent.outputSchema : undefined;
  return {
    ...{ name: agent.name, model, tools, agents: agent.subAgents.map(outlineAgent) },
    ...(schema && { outputSchema: schema }),
  };
}

/** The first agent below `root` with a model that Gemini's developer API does not serve, and the name of that model. */
export function findOtherModel(
  root: BaseAgent,
): { agent: string; model: string | undefined; isOwn: boolean } | undefined {
  for (const agent of agentsBelow(root)) {
    if (!isLlmAgent(agent)) continue;
    const { model: given } = agent;
    const name = typeof given === "string" ? given : (given?.model ?? "");
    try {
      const model = agent.canonicalModel;
      if (model instanceof Gemini && !isVertex(model) && !model.model.startsWith("apigee/")) continue;
      return { agent: agent.name, model: name || model.model, isOwn: typeof given === "object" };
    } catch {
      return { agent: agent.name, model: name || undefined, isOwn: false };
    }
  }
  return undefined;
}

/** Services that keep what they have in memory, for servers that run an agent without knowing what it needs. */
export function memoryServices(): AdkServices {
  return { artifactService: new InMemoryArtifactService(), memoryService: new InMemoryMemoryService() };
}

/** Lets ADK print only errors. It prints several lines for every request. */
export function quietAdk(): void {
  setLogLevel(LogLevel.ERROR);
}

/** ADK keeps this field for subclasses. */
function isVertex(model: Gemini): boolean {
  return (model as unknown as { vertexai?: boolean }).vertexai === true;
}
