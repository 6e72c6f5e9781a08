import { type AgentTool, type BaseAgent, type Event, isLlmAgent } from "@google/adk";
import type { JsonObject } from "../../stores/index.ts";
import { lastText } from "./history.ts";
import type { ToolOutcome } from "./tool-result.ts";

/**
 * An agent that is run as a tool. ADK runs it in a runner without plugins, where its own tools would not be gated (K10),
 * so we run it in a session of its own. These functions do what `AgentTool` itself does before and after that run.
 */

/** The id of the session in which the agent of this call runs. */
export function innerSessionId(sessionId: string, callId: string): string {
  return `${sessionId}~${callId}`;
}

/** The chat that a session belongs to, by its id. */
export function outermostSession(sessionId: string): string {
  return sessionId.split("~", 1)[0] ?? sessionId;
}

/** The agent of an `AgentTool`; ADK keeps it private. */
export function agentOf(tool: AgentTool): BaseAgent {
  return (tool as unknown as { agent: BaseAgent }).agent;
}

/** What the agent is asked, in the form `AgentTool` gives it. */
export function agentRequest(tool: AgentTool, args: JsonObject): string {
  const agent = agentOf(tool);
  const { request } = args;
  return typeof request === "string" && request && !(isLlmAgent(agent) && agent.inputSchema)
    ? request
    : JSON.stringify(args);
}

/** The agent's result: its last text (parsed if it has an output schema), and the state it changed. */
export function agentOutcome(tool: AgentTool, events: readonly Event[]): Required<Omit<ToolOutcome, "actions">> {
  const agent = agentOf(tool);
  const stateDelta = Object.assign({}, ...events.map(({ actions }) => actions?.stateDelta)) as JsonObject;
  const { errorCode, errorMessage, content } = events.at(-1) ?? {};
  if (errorCode && !content)
    return {
      event: "fail",
      outcome: { error: `The agent ${agent.name} failed: ${errorMessage ?? errorCode}` },
      stateDelta,
    };
  const text = lastText(events);
  const result: unknown = isLlmAgent(agent) && agent.outputSchema ? parsed(text) : text;
  const isObject = typeof result === "object" && result !== null && !Array.isArray(result);
  return { event: "succeed", outcome: isObject ? (result as JsonObject) : { result }, stateDelta };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
