import {
  AgentTransferLlmRequestProcessor,
  type BaseTool,
  Context,
  type InvocationContext,
  isAgentTool,
  isLlmAgent,
  type LlmAgent,
  type LlmRequest,
  ReadonlyContext,
} from "@google/adk";
import { BridgeError } from "../../protocol/index.ts";
import { findAgentTool } from "./agents.ts";
import { findTool, SeveralTools } from "./find-tool.ts";
import type { GatheredCalls } from "./gathered-calls.ts";

/**
 * The tool of a call that is to run outside ADK's loop. Not every tool is in the agent's own list: ADK adds
 * `transfer_to_agent` to each request (K30), and a tool may add others in `processLlmRequest`. Those are found by preparing
 * a request that is never sent. Throws when the agent does not have the tool: a missing tool is never guessed.
 */
export async function findCallTool(agent: LlmAgent, name: string, context: InvocationContext): Promise<BaseTool> {
  const readonly = new ReadonlyContext(context);
  const found = await findTool(agent, name, readonly).catch((error: unknown) => error as Error);
  if (!(found instanceof Error)) return found;
  if (found instanceof SeveralTools) throw found;
  const tools = await agent.canonicalTools(readonly);
  const llmRequest: LlmRequest = { contents: [], toolsDict: {}, liveConnectConfig: {}, config: {} };
  for (const processor of agent.requestProcessors)
    if (processor instanceof AgentTransferLlmRequestProcessor)
      for await (const event of processor.runAsync(context, llmRequest)) void event;
  const toolContext = new Context({ invocationContext: context });
  for (const tool of tools)
    // A tool that cannot prepare this request brings nothing to it.
    await tool.processLlmRequest({ toolContext, llmRequest }).catch(() => undefined);
  const added = Object.hasOwn(llmRequest.toolsDict, name) ? llmRequest.toolsDict[name] : undefined;
  if (!added) throw found;
  return added;
}

/**
 * Throws for a tool that will not be found when its call runs: one that a callback added to this request alone. A person
 * is not asked about it.
 */
export async function requireFindable(
  tool: BaseTool,
  { agent }: InvocationContext,
  gathered: GatheredCalls | undefined,
): Promise<void> {
  if (gathered && !gathered.offered(tool.name))
    throw new BridgeError("invalid", `A callback added the tool ${tool.name}, so its call cannot wait.`);
  if (isAgentTool(tool) && isLlmAgent(agent) && !agent.tools.includes(tool)) await findAgentTool(agent, tool.name);
}
