import { type BaseTool, isFunctionTool } from "@google/adk";
import { canonicalJson } from "../../protocol/index.ts";
import type { Approval, JsonObject } from "../../stores/index.ts";
import { applyJsonSchema } from "./apply-json-schema.ts";
import { jsonSchemaOf } from "./tool-hash.ts";

/**
 * What a person approves is what the tool function gets. The tool's schema may change what the model sent (defaults,
 * coercions, transforms), so the schema is applied before the question, and the result is shown, stored and run. What the
 * model sent is kept beside it.
 */

type Validating = BaseTool & { validateArgs?: (args: JsonObject) => JsonObject };

/**
 * Applies the zod schema of a `FunctionTool`, or the JSON schema of an MCP tool. Other tools have none that we know.
 * Throws when the arguments do not fit.
 */
export function parseArguments(tool: BaseTool, args: JsonObject): JsonObject {
  const { validateArgs } = tool as Validating;
  if (isFunctionTool(tool) && typeof validateArgs === "function") return validateArgs.call(tool, args);
  const schema = jsonSchemaOf(tool);
  return schema === undefined ? args : applyJsonSchema(schema, args);
}

/** Arguments as JSON. Values that are not JSON (dates, maps, big integers) become text, lists and objects. */
export function shownArguments(args: JsonObject): JsonObject {
  return JSON.parse(shownText(args)) as JsonObject;
}

/** The same, as text. */
export function shownText(args: JsonObject): string {
  return JSON.stringify(args, toJsonValue);
}

/**
 * The tool for one approved call. It runs only with the arguments that were approved: if a callback has changed them, or
 * they no longer parse to what was shown, it throws.
 */
export function bindTool(
  tool: BaseTool,
  { input, rawInput = input }: Pick<Approval, "input" | "rawInput">,
): Pick<BaseTool, "runAsync"> {
  const approvedValue = (): JsonObject => {
    const parsed = parseArguments(tool, JSON.parse(rawInput) as JsonObject);
    // JSON is taken from the row, so that a schema which gives another value each time cannot change what was shown.
    if (isJson(parsed)) return JSON.parse(input) as JsonObject;
    if (canonicalJson(shownArguments(parsed)) !== input) throw notRun("no longer mean what was approved");
    return parsed;
  };
  return {
    async runAsync(request) {
      if (!isCanonical(request.args, rawInput)) throw notRun("were changed after they were approved");
      return tool.runAsync({ ...request, args: asParsed(tool, approvedValue()) });
    },
  };
}

/** The values that a schema has been applied to. */
const parsedValues = new WeakSet<object>();
/** Our own `validateArgs` methods. */
const passing = new WeakSet<object>();

/**
 * Marks a value as parsed, so that the tool takes it as it is: a transform that is applied twice would change it again. A
 * `FunctionTool` gets a `validateArgs` that knows such values; ADK has no hook for it. For all other values it is the
 * tool's own.
 */
export function asParsed(tool: BaseTool, value: JsonObject): JsonObject {
  const { validateArgs } = tool as Validating;
  if (isFunctionTool(tool) && typeof validateArgs === "function" && !passing.has(validateArgs)) {
    const pass = (args: JsonObject): JsonObject => (parsedValues.has(args) ? args : validateArgs.call(tool, args));
    passing.add(pass);
    Object.defineProperty(tool, "validateArgs", { value: pass, writable: true, configurable: true });
  }
  parsedValues.add(value);
  return value;
}

export function notRun(how: string): Error {
  return new Error(`The arguments ${how}; the tool was not run.`);
}

/** True when a value comes back from JSON as it was. */
export function isJson(value: unknown): boolean {
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

/** A value that canonical JSON refuses (a date, a getter) is not what the row has, whatever its text is. */
function isCanonical(args: JsonObject, text: string): boolean {
  try {
    return canonicalJson(args) === text;
  } catch {
    return false;
  }
}

function toJsonValue(_key: string, value: unknown): unknown {
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, each]) => [String(key), each]));
  if (value instanceof Set) return [...value];
  // JSON would write null for all of these.
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return typeof value === "bigint" ? String(value) : value;
}
