import { type BaseTool, LongRunningFunctionTool } from "@google/adk";
import type { ZodObject } from "zod";

const clientTools = new WeakSet<BaseTool>();

/**
 * A tool that runs in the browser. The server only declares it. The call waits in the ledger until the page sends the
 * result, which is accepted for this call alone; with `requireConfirmation`, only after a person approved the call.
 */
export function clientTool(options: {
  name: string;
  description: string;
  parameters: ZodObject;
  requireConfirmation?: boolean;
}): BaseTool {
  const tool = new LongRunningFunctionTool({ ...options, execute: () => undefined });
  clientTools.add(tool);
  return tool;
}

export const isClientTool = (tool: BaseTool): boolean => clientTools.has(tool);
