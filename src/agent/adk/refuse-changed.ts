import type { BaseTool } from "@google/adk";
import type { Approval } from "../../stores/index.ts";
import { toolHash } from "./tool-hash.ts";

/** Throws when a tool is not the one that a call was shown for: its declaration has changed, or how its result comes. */
export function refuseChanged(approval: Approval, tool: BaseTool, agent: string): void {
  // Rows of older versions have no hash.
  const isDeclaredAlike = approval.toolHash === undefined || approval.toolHash === toolHash(tool, agent);
  // The result of a call that nothing can report must not come later.
  const isReportedAlike = !tool.isLongRunning || approval.reportMs !== undefined || approval.innerSession !== undefined;
  if (isDeclaredAlike && isReportedAlike) return;
  throw new Error(`The tool ${tool.name} has changed since the approval was asked for; it was not run.`);
}
