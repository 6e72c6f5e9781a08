import { BaseTool } from "@google/adk";
import type { FunctionCall } from "@google/genai";
import { isReserved } from "./history.ts";

/** The tool by which an agent of a live sequence says that its part is done. */
export const taskCompleted = "task_completed";

/** Stands in for a tool that does not exist, so the model reads its mistake and can correct it. */
export class MissingTool extends BaseTool {
  constructor(name: string) {
    super({ name, description: "" });
  }

  override async runAsync(): Promise<Record<string, unknown>> {
    return { error: `There is no tool named ${this.name}.` };
  }
}

/**
 * K17. For a tool name the model made up, ADK ends the run and leaves the call without a response, which no later request
 * can contain. This adds a stand-in to the tools of the request, where ADK looks them up.
 */
export function addMissingTools(calls: readonly FunctionCall[], tools: Record<string, BaseTool>): void {
  for (const call of calls) {
    if (call.name === undefined || Object.hasOwn(tools, call.name)) continue;
    // ADK acts on its own reserved names even when the agent has no such tool, so the model must not be able to use them.
    if (isReserved(call.name) || call.name === taskCompleted) call.name = `unknown_${call.name}`;
    Object.defineProperty(tools, call.name, {
      value: new MissingTool(call.name),
      enumerable: true,
      configurable: true,
    });
  }
}
