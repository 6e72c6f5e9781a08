import { BaseTool } from "@google/adk";

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
