import { type BaseTool, LongRunningFunctionTool } from "@google/adk";
import type { ZodObject, ZodType, z } from "zod";
import type { AsJson, ClientOutputOf, TypedTool } from "../../protocol/tool-types.ts";

const clientTools = new WeakSet<BaseTool>();

/**
 * A tool that runs in the browser. The server only declares it. The call waits in the ledger until the page sends the
 * result, which is accepted for this call alone; with `requireConfirmation`, only after a person approved the call.
 */
export function clientTool<const Name extends string, Parameters extends ZodObject, Output = unknown>(options: {
  name: Name;
  description: string;
  parameters: Parameters;
  requireConfirmation?: boolean;
  /** The type of the result, for the page (`useClientTools`). It is not checked. */
  output?: ZodType<Output>;
}): BaseTool & TypedTool<Name, AsJson<z.output<Parameters>>, ClientOutputOf<Output>> {
  const { output: _output, ...declared } = options;
  const tool = new LongRunningFunctionTool({ ...declared, execute: () => undefined });
  clientTools.add(tool);
  return tool;
}

export const isClientTool = (tool: BaseTool): boolean => clientTools.has(tool);
