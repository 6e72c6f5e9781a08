import { type BaseTool, type Context, isAgentTool } from "@google/adk";
import { inputOf } from "./call-input.ts";
import type { HeldCall } from "./run-scope.ts";
import { declaredNames, toolHash } from "./tool-hash.ts";

/** The part of a held call's row that the call itself determines. */
export function describeCall(tool: BaseTool, args: Record<string, unknown>, context: Context): DescribedCall {
  const { agent, branch } = context.invocationContext;
  const agentName = agent?.name ?? "";
  return {
    toolCallId: context.functionCallId ?? "",
    toolName: tool.name,
    args: inputOf(tool, args).shown,
    rawArgs: args,
    declared: declaredNames(tool),
    isReported: tool.isLongRunning && !isAgentTool(tool),
    session: context.sessionId,
    agent: agentName,
    toolHash: toolHash(tool, agentName),
    ...(branch !== undefined && { branch }),
  };
}

type DescribedCall = Pick<
  HeldCall,
  | "toolCallId"
  | "toolName"
  | "args"
  | "rawArgs"
  | "declared"
  | "isReported"
  | "session"
  | "agent"
  | "toolHash"
  | "branch"
>;
