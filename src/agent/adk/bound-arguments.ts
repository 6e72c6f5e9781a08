import { type BaseTool, FunctionTool, isFunctionTool, LongRunningFunctionTool } from "@google/adk";
import { canonicalJson } from "../../protocol/index.ts";
import type { Approval, JsonObject } from "../../stores/index.ts";

/**
 * What a person approves is what the tool function gets. The tool's schema may change what the model sent (defaults,
 * coercions, transforms), so the schema is applied before the question, and the result is shown, stored and run. What the
 * model sent is kept beside it.
 */

/** Applies the schema of a `FunctionTool`. Other tools have none that we know. Throws when the arguments do not fit. */
export function parseArguments(tool: BaseTool, args: JsonObject): JsonObject {
  const { validateArgs } = tool as BaseTool & { validateArgs?: (args: JsonObject) => JsonObject };
  return isFunctionTool(tool) && typeof validateArgs === "function" ? validateArgs.call(tool, args) : args;
}

/** Arguments as JSON. Values that are not JSON (dates, maps, big integers) become text, lists and objects. */
export function shownArguments(args: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(args, toJsonValue)) as JsonObject;
}

/**
 * The tool for one approved call. It runs only with the arguments that were approved: if a callback has changed them, or
 * they no longer parse to what was shown, it throws.
 */
export function bindTool(
  tool: BaseTool,
  { input, rawInput = input }: Pick<Approval, "input" | "rawInput">,
): Pick<BaseTool, "runAsync"> {
  const parseUnchanged = (args: JsonObject): JsonObject => {
    if (canonicalJson(shownArguments(args)) !== rawInput) throw notRun("were changed after they were approved");
    return parseArguments(tool, args);
  };
  const requireSame = (parsed: JsonObject): JsonObject => {
    if (canonicalJson(shownArguments(parsed)) !== input) throw notRun("no longer mean what was approved");
    return parsed;
  };
  if (!isPlainFunctionTool(tool))
    return {
      async runAsync(request) {
        requireSame(parseUnchanged(request.args));
        return tool.runAsync(request);
      },
    };
  const validateArgs = (args: JsonObject): JsonObject => {
    const parsed = parseUnchanged(args);
    // JSON is taken from the row, so that a schema which gives another value each time cannot change what was shown.
    return isJson(parsed) ? (JSON.parse(input) as JsonObject) : requireSame(parsed);
  };
  return Object.create(tool, { validateArgs: { value: validateArgs } }) as BaseTool;
}

/**
 * True when `runAsync` is ADK's own, which gives the function what `validateArgs` returns. A tool with methods of its own
 * may not call it, and a subclass may have private fields, which an object that only inherits from it does not have.
 */
function isPlainFunctionTool(tool: BaseTool): boolean {
  if (Object.hasOwn(tool, "runAsync") || Object.hasOwn(tool, "validateArgs")) return false;
  const prototype: unknown = Object.getPrototypeOf(tool);
  return prototype === FunctionTool.prototype || prototype === LongRunningFunctionTool.prototype;
}

function notRun(how: string): Error {
  return new Error(`The arguments ${how}; the tool was not run.`);
}

/** True when a value comes back from JSON as it was. */
function isJson(value: unknown): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (Array.isArray(value)) return value.every(isJson);
  if (typeof value !== "object") return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    (prototype === Object.prototype || prototype === null) &&
    Object.values(value).every((each) => each === undefined || isJson(each))
  );
}

function toJsonValue(_key: string, value: unknown): unknown {
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, each]) => [String(key), each]));
  if (value instanceof Set) return [...value];
  return typeof value === "bigint" ? String(value) : value;
}
