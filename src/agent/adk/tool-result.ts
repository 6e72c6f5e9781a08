import type { Context } from "@google/adk";
import type { JsonObject } from "../../stores/index.ts";

/** What became of a tool call, in the form the ledger records. */
export interface ToolOutcome {
  event: "succeed" | "fail";
  outcome: JsonObject;
  stateDelta?: JsonObject;
  /** What else the tool asked ADK to do, see `ToolActions`. */
  actions?: JsonObject;
}

/** A long-running tool has begun. Its result will be reported. */
export interface Beginning {
  event: "begin";
  /** What the tool said when it had begun. */
  interim?: JsonObject;
  stateDelta?: JsonObject;
  actions?: JsonObject;
}

/** A tool's result as the JSON object that the model gets, with ADK's shapes for results that are not objects. */
export function toObject(value: unknown): JsonObject {
  if (value === undefined || value === null) return { result: null };
  if (Array.isArray(value)) return toJson({ results: value });
  return toJson(typeof value === "object" ? value : { result: value });
}

/**
 * The error of a failed MCP call; undefined for every other result. MCP reports the failure of a tool as a result with
 * `isError`, not as an error of the protocol.
 */
export function mcpError(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { isError, content } = value as { isError?: unknown; content?: unknown };
  if (isError !== true || !Array.isArray(content)) return undefined;
  const texts = content.flatMap((part: unknown) => {
    const text = typeof part === "object" && part !== null && "text" in part ? part.text : undefined;
    return typeof text === "string" ? [text] : [];
  });
  return texts.join("\n") || "The tool failed without a message.";
}

/** True when a result is not JSON, or would be stored as a different value. */
export function needsConversion(value: unknown): boolean {
  if (value === undefined || value === null) return false;
  return !isJson(value) || (typeof value === "object" && !isObject(JSON.parse(JSON.stringify(value))));
}

/** Removes state that is not JSON from a call's state delta, and returns how many entries that were. */
export function dropNonJsonState({ actions: { stateDelta } }: Context): number {
  const dropped = Object.keys(stateDelta).filter((name) => !isJson(stateDelta[name]));
  for (const name of dropped) delete stateDelta[name];
  return dropped.length;
}

/** The tool has run, so a result that is not JSON must not turn its success into a failure. */
function toJson(value: object): JsonObject {
  if (!isJson(value)) return { result: "The tool ran; its result could not be written as JSON." };
  const written = JSON.parse(JSON.stringify(value)) as unknown;
  return isObject(written) ? written : { result: written };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined && !isDeeperThan(maxDepth, value);
  } catch {
    return false;
  }
}

/** Libraries that copy a value level by level run out of stack at some depth, and the chat could not go on. */
const maxDepth = 500;

function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isDeeperThan(levels - 1, each));
}
