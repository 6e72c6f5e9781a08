import { createHash } from "node:crypto";
import type { BaseTool } from "@google/adk";

/**
 * A hash of what the model and the approver know of a tool: its name, its description, its schema, and the agent that has
 * it. A tool that has changed since the question is not run. Code is not part of it: it cannot be compared across restarts.
 */
export function toolHash(tool: BaseTool, agent: string): string {
  const { name, description } = tool;
  // ADK writes into the schema of an MCP tool when it declares it. The hash is taken after that.
  if (mcpSchemaOf(tool)) declarationOf(tool);
  const declared = declarationOf(tool);
  const { parameters, ...declaration } = declared ?? {};
  const known = { agent, name, description, declaration, parameters: stableText(parameters, true) };
  const schema = mcpSchemaOf(tool) ?? declared?.parametersJsonSchema;
  return createHash("sha256")
    .update(stableText({ ...known, schema }))
    .digest("hex");
}

/** The JSON schema of a tool's arguments: an MCP tool has one, other tools may have one in their declaration. */
export function jsonSchemaOf(tool: BaseTool): unknown {
  return mcpSchemaOf(tool) ?? declarationOf(tool)?.parametersJsonSchema;
}

/** ADK declares an MCP tool to Gemini without defaults and most checks. It keeps the server's own schema in the tool. */
function mcpSchemaOf(tool: BaseTool): unknown {
  return (tool as BaseTool & { mcpTool?: { inputSchema?: unknown } }).mcpTool?.inputSchema;
}

/** The names of a tool's arguments, in the order of its declaration. */
export function declaredNames(tool: BaseTool): string[] {
  const declared = declarationOf(tool);
  const schema = mcpSchemaOf(tool) ?? declared?.parametersJsonSchema ?? declared?.parameters;
  const { properties } = (schema ?? {}) as { properties?: unknown };
  return typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
}

function declarationOf(tool: BaseTool): ReturnType<BaseTool["_getDeclaration"]> {
  try {
    return tool._getDeclaration();
  } catch {
    return undefined;
  }
}

/**
 * The same text for the same value, in whatever order its keys are. A default of a zod schema may be another value each time
 * it is read, such as the present time, so `withoutDefaults` leaves it out. The row has the value that was shown.
 */
function stableText(value: unknown, withoutDefaults = false): string {
  const sort = (key: string, each: unknown): unknown => {
    if (typeof each !== "object" || each === null || Array.isArray(each)) return each;
    const isKept = ([name]: [string, unknown]) => !withoutDefaults || key === "properties" || name !== "default";
    const entries = Object.entries(each).filter(isKept);
    return Object.fromEntries(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)));
  };
  try {
    return JSON.stringify(value, sort) ?? "";
  } catch {
    // Cyclic, or nested too deep to be read. No model can have been told about such a schema.
    return "unreadable";
  }
}
