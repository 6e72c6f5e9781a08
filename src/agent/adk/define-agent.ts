import { type Context, FunctionTool, LlmAgent, type LlmAgentConfig } from "@google/adk";
import type { ZodObject, z } from "zod";
import type { ToolTypesIn, TypedAgent, TypedTool } from "../../protocol/tool-types.ts";

/** The options of ADK's `FunctionTool` with a name, a zod schema and a typed result. */
export interface DefinedToolOptions<Name extends string, Parameters extends ZodObject, Output> {
  /** The tool's name, as the model calls it. */
  name: Name;
  /** What the tool does, for the model. */
  description: string;
  /** The schema of the arguments. */
  parameters: Parameters;
  /** Runs the tool with the arguments after the schema was applied. */
  execute: (input: z.output<Parameters>, context?: Context) => Output | Promise<Output>;
  /** True if what it returns is not the result, which is reported later. Default false. */
  isLongRunning?: boolean;
  /** Whether a person has to approve the call, or a function that says so. Default false. */
  requireConfirmation?: boolean | ((input: z.output<Parameters>, context?: Context) => boolean | Promise<boolean>);
}

/** ADK's `FunctionTool`, which remembers the types of its name, input and output for the page. */
export function defineTool<const Name extends string, Parameters extends ZodObject, Output>(
  options: DefinedToolOptions<Name, Parameters, Output>,
): FunctionTool<Parameters> & TypedTool<Name, z.output<Parameters>, Awaited<Output>> {
  // ADK computes the same types with its own conditional ones, which the compiler cannot compare with these.
  return new FunctionTool(options as never);
}

/** ADK's `LlmAgent`, which remembers the types of its tools: `useAgentChat<typeof agent>` knows them in the page. */
export function defineAgent<const Tools extends NonNullable<LlmAgentConfig["tools"]>>(
  config: Omit<LlmAgentConfig, "tools"> & { tools?: Tools },
): LlmAgent & TypedAgent<ToolTypesIn<Tools>> {
  return new LlmAgent(config);
}
