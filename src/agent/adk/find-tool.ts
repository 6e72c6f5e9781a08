import { type BaseTool, isBaseTool, type LlmAgent, type ReadonlyContext } from "@google/adk";
import { within } from "../support/index.ts";
import { GuardedToolset } from "./guarded-toolset.ts";

/** How long listing a toolset may take; then it counts as away. */
const listingMs = 10_000;

/** A tool could not be looked for, because a toolset that may have it cannot be listed now, or the store cannot be read. */
export class ToolsAway extends Error {}

/** A value from the store. That it cannot be read now says nothing about the tool. */
export async function fromStore<T>(read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (error) {
    throw new ToolsAway("The session of the call cannot be read now.", { cause: error });
  }
}

/** Several toolsets have a tool of this name. ADK refuses that too. */
export class SeveralTools extends Error {}

/**
 * A tool by name. Throws when the agent does not have it, or has several: a tool is never guessed, and a toolset cannot take
 * over the calls of another by listing its tools. Toolsets are asked only for tools that the agent does not list itself, and
 * one that is away matters only if no other has the tool.
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
    return tools.filter((candidate) => candidate.name === name);
  });
  const lists = await Promise.allSettled(searches);
  const [tool, ...others] = lists.flatMap((list) => (list.status === "fulfilled" ? list.value : []));
  if (others.length > 0) throw new SeveralTools(`The agent ${agent.name} has several tools named ${name}.`);
  if (tool) return tool;
  const away = lists.find((list) => list.status === "rejected");
  if (away) throw new ToolsAway(`The tools of the agent ${agent.name} cannot be listed now.`, { cause: away.reason });
  throw new Error(`The agent ${agent.name} no longer has a tool named ${name}.`);
}

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
