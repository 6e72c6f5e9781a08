import { type Context, FunctionTool, LlmAgent, type LlmAgentConfig } from "@google/adk";
import type { ZodObject, z } from "zod";
import type { AsJson, OutputOf, ToolTypesBelow, TypedAgent, TypedTool } from "../../protocol/tool-types.ts";

/** The options of ADK's `FunctionTool` with a name, a zod schema and a typed result. */
export interface DefinedToolOptions<
  Name extends string,
  Parameters extends ZodObject,
  Output,
  LongRunning extends boolean = boolean,
> {
  /** The tool's name, as the model calls it. */
  name: Name;
  /** What the tool does, for the model. */
  description: string;
  /** The schema of the arguments. */
  parameters: Parameters;
  /** Runs the tool with the arguments after the schema was applied. */
  execute: (input: z.output<Parameters>, context?: Context) => Output | Promise<Output>;
  /** True if what it returns is not the result, which is reported later. Default false. */
  isLongRunning?: LongRunning;
  /** Whether a person has to approve the call, or a function that says so. Default false. */
  requireConfirmation?: boolean | ((input: z.output<Parameters>, context?: Context) => boolean | Promise<boolean>);
}

/**
 * ADK's `FunctionTool`, which remembers the types of its name, input and output for the page. The input is what the schema
 * makes of what the model sent, and the output what ADK makes of what the tool returns, both as JSON: a date is a text, and
 * a text, a number or a list is `{ result }` or `{ results }`.
 */
export function defineTool<
  const Name extends string,
  Parameters extends ZodObject,
  Output,
  const LongRunning extends boolean = false,
>(
  options: DefinedToolOptions<Name, Parameters, Output, LongRunning>,
): FunctionTool<Parameters> &
  TypedTool<Name, AsJson<z.output<Parameters>>, LongRunning extends true ? unknown : OutputOf<Awaited<Output>>> {
  // ADK computes the same types with its own conditional ones, which the compiler cannot compare with these.
  return new FunctionTool(options as never);
}

/**
 * ADK's `LlmAgent`, which remembers the types of its tools and of those of its sub-agents: `useAgentChat<typeof agent>`
 * knows them in the page.
 */
export function defineAgent<
  const Tools extends NonNullable<LlmAgentConfig["tools"]> = [],
  const SubAgents extends NonNullable<LlmAgentConfig["subAgents"]> = [],
>(
  config: Omit<LlmAgentConfig, "tools" | "subAgents"> & { tools?: Tools; subAgents?: SubAgents },
): LlmAgent & TypedAgent<ToolTypesBelow<Tools, SubAgents>> {
  return new LlmAgent(config);
}
