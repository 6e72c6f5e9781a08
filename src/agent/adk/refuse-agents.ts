import {
  type BaseAgent,
  type BaseTool,
  isAgentTool,
  isBaseAgent,
  isBaseTool,
  isBaseToolset,
  isLlmAgent,
  MCPToolset,
  OpenAPIToolset,
  requestInputTool,
} from "@google/adk";
import { atMost } from "../support/index.ts";
import { agentOf } from "./agent-tool.ts";
import { GuardedToolset } from "./guarded-toolset.ts";
import { isReserved } from "./history.ts";

/**
 * What the gate cannot see is refused when the bridge starts. ADK runs the steps of a workflow without the events that the
 * gate relies on, and some tools only change the request, so that no call of them can be held. What shows itself only at
 * run time is refused by the gate (`beforeNodeCallback`).
 */

/** How long listing a toolset may take. One that cannot be listed is checked by the gate when its tools are called. */
const listingMs = 10_000;

/** Throws for agents and tools below `root` that cannot be gated. `confirmed` are the tools whose policy asks a person. */
export function refuseAgents(root: BaseAgent, confirmed: readonly string[]): void {
  const { tools } = lookBelow(root);
  for (const found of tools) refuseTool(found);
  const reserved = tools.flatMap(({ tool: { name } }) => (isReserved(name) ? [name] : []));
  if (reserved.length > 0)
    throw new Error(`Names that begin with adk_request_ are reserved by ADK. Rename the tool ${reserved.join(", ")}.`);
  refuseRequestTools(
    tools.map(({ tool }) => tool),
    confirmed,
  );
}

/** The same for what toolsets bring, as far as they can be listed now. */
export async function refuseToolsets(root: BaseAgent, confirmed: readonly string[]): Promise<void> {
  const { tools, toolsets } = lookBelow(root);
  const listed = await Promise.all(
    toolsets.map(async ({ toolset, agent }) => {
      let brought: BaseTool[] = [];
      const list = async () => {
        brought = await toolset.getTools();
      };
      // Some toolsets can only be listed inside a run.
      await atMost(
        listingMs,
        list().catch(() => undefined),
      );
      return brought.filter(isBaseTool).map((tool) => ({ tool, agent }));
    }),
  );
  for (const tool of listed.flat()) {
    refuseTool(tool);
    if (isAgentTool(tool.tool)) refuseAgents(agentOf(tool.tool), confirmed);
  }
  refuseRequestTools(
    [...tools, ...listed.flat()].map(({ tool }) => tool),
    confirmed,
  );
}

/** True for a tool that runs a workflow or one of its nodes. ADK exports no function for it, only the mark (K27). */
export function isNodeTool(tool: unknown): boolean {
  return hasMark(tool, "google.adk.workflow.nodeTool");
}

/** True for a tool that the model never calls: it declares no function and only changes the request (K28). */
function isRequestTool(tool: BaseTool): boolean {
  try {
    return tool._getDeclaration() === undefined;
  } catch {
    return false;
  }
}

interface Found {
  tools: { tool: BaseTool; agent: string }[];
  toolsets: { toolset: { getTools(): Promise<BaseTool[]> }; agent: string }[];
}

/** Every tool and toolset below `root`. Throws for what is neither an agent nor a tool. */
function lookBelow(root: BaseAgent): Found {
  const found: Found = { tools: [], toolsets: [] };
  const seen = new Set<BaseAgent>();
  const visit = (agent: BaseAgent) => {
    if (seen.has(agent)) return;
    seen.add(agent);
    const { name } = agent;
    for (const tool of isLlmAgent(agent) ? (agent.tools as unknown[]) : []) {
      if (isBaseTool(tool)) {
        found.tools.push({ tool, agent: name });
        if (isAgentTool(tool)) visit(requireAgentOf(agentOf(tool), `The AgentTool ${tool.name} of ${name}`));
      } else if (isBaseToolset(tool)) {
        // Tools of these are functions on a server. Listing them here would need that server at every start.
        const inner = tool instanceof GuardedToolset ? tool.inner : tool;
        const isRemote = inner instanceof MCPToolset || inner instanceof OpenAPIToolset;
        if (!isRemote) found.toolsets.push({ toolset: tool, agent: name });
      } else refuseNode(tool, name);
    }
    for (const child of agent.subAgents as unknown[]) visit(requireAgentOf(child, `The agent ${name}`));
  };
  visit(root);
  return found;
}

function requireAgentOf(value: unknown, who: string): BaseAgent {
  if (isBaseAgent(value)) return value;
  throw new Error(`${who} runs the workflow ${nameOf(value)}. ${workflowAdvice}`);
}

function refuseNode(value: unknown, agent: string): void {
  if (isBaseAgent(value))
    throw new Error(
      `The agent ${value.name} is in the tools of ${agent}. Use new AgentTool({ agent: ${value.name} }) instead.`,
    );
  if (hasMark(value, "google.adk.workflow.baseNode"))
    throw new Error(`The agent ${agent} has the workflow ${nameOf(value)} in its tools. ${workflowAdvice}`);
}

function refuseTool({ tool, agent }: { tool: BaseTool; agent: string }): void {
  if (isNodeTool(tool)) throw new Error(`The tool ${tool.name} of ${agent} runs a workflow. ${workflowAdvice}`);
  if (tool === requestInputTool || tool.name === requestInputTool.name)
    throw new Error(
      `The agent ${agent} has requestInputTool, whose calls ADK never answers. Use clientTool({ name: "request_input", … }) instead: the page answers it.`,
    );
}

function refuseRequestTools(tools: readonly BaseTool[], confirmed: readonly string[]): void {
  for (const name of confirmed) {
    const named = tools.filter((tool) => tool.name === name);
    if (named.length > 0 && named.every(isRequestTool))
      throw new Error(
        `The policy for ${name} asks a person, but the model never calls ${name}: it only changes the request. Remove the policy, or give the agent a function tool that does the same.`,
      );
  }
}

const workflowAdvice =
  "Workflows are not supported: their steps would run without approval. Use sub-agents, or a function tool that calls your own code.";

function nameOf(value: unknown): string {
  const { name } = (value ?? {}) as { name?: unknown };
  return typeof name === "string" ? name : String(value);
}

function hasMark(value: unknown, mark: string): boolean {
  return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[Symbol.for(mark)] === true;
}
