import { BaseTool } from "@google/adk";
import type { FunctionCall } from "@google/genai";
import { isReserved } from "./history.ts";

/** What ADK ends an agent's part of a live run with, where several come one after the other. */
export const taskCompleted = "task_completed";

/**
 * Stands in for a tool the model made up. ADK would end the run and leave the call without a response, which no later
 * request could contain; this way the model reads its mistake and may correct it.
 */
export class MissingTool extends BaseTool {
  constructor(name: string) {
    super({ name, description: "" });
  }

  override async runAsync(): Promise<Record<string, unknown>> {
    return { error: `There is no tool named ${this.name}.` };
  }
}

/** Gives every call a tool, among the tools of the request, where ADK looks for the ones that are called (K17). */
export function offerMissing(calls: readonly FunctionCall[], tools: Record<string, BaseTool>): void {
  for (const call of calls) {
    if (call.name === undefined || Object.hasOwn(tools, call.name)) continue;
    // ADK's own names mean something to it even where nobody offered them: no model answers for a person, and none ends a
    // live run.
    if (isReserved(call.name) || call.name === taskCompleted) call.name = `unknown_${call.name}`;
    Object.defineProperty(tools, call.name, {
      value: new MissingTool(call.name),
      enumerable: true,
      configurable: true,
    });
  }
}
