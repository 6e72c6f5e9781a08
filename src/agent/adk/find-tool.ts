import { type BaseTool, isBaseTool, type LlmAgent, type ReadonlyContext } from "@google/adk";
import { within } from "../support/index.ts";
import { GuardedToolset } from "./guarded-toolset.ts";

/** How long listing a toolset may take; then it counts as away. */
const listingMs = 10_000;

/** A tool could not be looked for, because a toolset that may have it cannot be listed now. */
export class ToolsAway extends Error {}

/**
 * A tool by name. Throws when the agent does not have it: a missing tool is never guessed. Toolsets are asked only for
 * tools that the agent does not list itself, and one that is away matters only if no other has the tool.
 */
export async function findTool(
  agent: LlmAgent,
  name: string,
  context?: ReadonlyContext,
  ms = listingMs,
): Promise<BaseTool> {
  const listed = agent.tools.find((tool) => isBaseTool(tool) && tool.name === name);
  const places = listed ? [listed] : agent.tools.filter((tool) => !isBaseTool(tool));
  const searches = places.map(async (place) => {
    const tools = await within(
      ms,
      listTools(agent, place, context),
      () => new Error("The tools could not be listed in time."),
    );
    return tools.find((candidate) => candidate.name === name) ?? Promise.reject(new NotThere());
  });
  try {
    return await Promise.any(searches);
  } catch (error) {
    const reasons: unknown[] = error instanceof AggregateError ? error.errors : [error];
    const away = reasons.find((reason) => !(reason instanceof NotThere));
    if (away !== undefined)
      throw new ToolsAway(`The tools of the agent ${agent.name} cannot be listed now.`, { cause: away });
    throw new Error(`The agent ${agent.name} no longer has a tool named ${name}.`, { cause: error });
  }
}

/** The toolset was listed and does not have the tool. */
class NotThere extends Error {}

/** What ADK makes of one entry of an agent's tools. */
async function listTools(
  agent: LlmAgent,
  entry: LlmAgent["tools"][number],
  context?: ReadonlyContext,
): Promise<BaseTool[]> {
  if (!(entry instanceof GuardedToolset))
    return agent.canonicalTools.call({ tools: [entry] } as unknown as LlmAgent, context);
  const tools = await entry.findTools(context);
  if (!tools) throw new Error("The toolset is away.");
  return tools;
}
