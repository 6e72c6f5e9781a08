import { isDeepStrictEqual } from "node:util";
import { forbiddenKeys } from "../../protocol/canonical-json.ts";
import { jsonPath, type PathSegment } from "../../protocol/json-path.ts";
import type { JsonObject } from "../../stores/index.ts";

/**
 * Applies a JSON schema to the arguments of a call: adds its defaults and checks the rest. Schemas come from other servers
 * (MCP), so the work is bounded and no regular expression of a schema is run.
 *
 * It never refuses what a complete validator would accept: keywords that it does not know are ignored, `oneOf` is read as
 * `anyOf`, and `not` is not read at all, because an ignored keyword below them would turn their meaning around. Defaults
 * inside `anyOf` and `oneOf` are not added, because it is not known which alternative is meant.
 */

/** How many schemas and values may be looked at for one call. Long texts count as several. */
const maxSteps = 50_000;
const textPerStep = 256;
/** How much text the defaults of one call may have. */
const maxDefaultText = 64 * 1024;
/** How deep schemas may be nested and refer to each other. */
const maxDepth = 256;

/**
 * The arguments with the schema's defaults. Throws a sentence for arguments that do not fit. If a schema is too large to be
 * applied, the arguments are returned as they are.
 */
export function applyJsonSchema(schema: unknown, args: JsonObject): JsonObject {
  const value = structuredClone(args);
  const run: Run = { root: schema, steps: 0, text: 0, path: [] };
  try {
    check(schema, value, run, 0, true);
  } catch (error) {
    if (error instanceof TooLarge) return args;
    throw error;
  }
  return value;
}

/** The schema is too large to be applied. */
class TooLarge extends Error {}

interface Run {
  readonly root: unknown;
  steps: number;
  text: number;
  /** Where in the arguments the value is. */
  readonly path: PathSegment[];
}

type Check = (schema: JsonObject, value: unknown, run: Run, depth: number, fills: boolean) => void;

/** `fills` is true where defaults are added. */
function check(schema: unknown, value: unknown, run: Run, depth: number, fills: boolean): void {
  count(run, 1);
  if (depth > maxDepth) throw new TooLarge();
  if (schema === false) throw misfit(run, "is not allowed");
  if (!isObject(schema)) return;
  // Older drafts ignore what is beside a reference, and ADK adds `type: "object"` there.
  if (typeof schema["$ref"] === "string") return check(resolve(run.root, schema["$ref"]), value, run, depth + 1, fills);
  // OpenAPI's word for "or null".
  if (value === null && schema["nullable"] === true) return;
  for (const each of list(schema["allOf"])) check(each, value, run, depth + 1, fills);
  for (const one of checks) one(schema, value, run, depth, fills);
  for (const alternatives of [schema["anyOf"], schema["oneOf"]]) checkSome(list(alternatives), value, run, depth);
}

const checkType: Check = ({ type, anyOf }, value, run) => {
  // ADK adds this type to a schema with alternatives of which one is null.
  if (type === "null" && anyOf !== undefined) return;
  const types = (Array.isArray(type) ? type : [type]).filter((each) => typeof each === "string");
  if (types.length === 0 || types.some((each) => hasType(each, value))) return;
  throw misfit(run, `must be ${types.join(" or ")}, and is ${typeOf(value)}`);
};

const checkEnum: Check = (schema, value, run) => {
  const { enum: allowed } = schema;
  if (Array.isArray(allowed) && !allowed.some((each) => isSame(each, value, run)))
    throw misfit(run, "is not one of the allowed values");
  if (Object.hasOwn(schema, "const") && !isSame(schema["const"], value, run))
    throw misfit(run, "is not the allowed value");
};

function isSame(allowed: unknown, value: unknown, run: Run): boolean {
  const size = typeof allowed === "object" && allowed !== null ? JSON.stringify(allowed).length : 0;
  count(run, 1 + (typeof value === "string" ? value.length : size) / textPerStep);
  return isDeepStrictEqual(allowed, value);
}

const checkNumber: Check = ({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }, value, run) => {
  if (typeof value !== "number") return;
  if (typeof minimum === "number" && value < minimum) throw misfit(run, `must be at least ${minimum}`);
  if (typeof maximum === "number" && value > maximum) throw misfit(run, `must be at most ${maximum}`);
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum)
    throw misfit(run, `must be more than ${exclusiveMinimum}`);
  if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum)
    throw misfit(run, `must be less than ${exclusiveMaximum}`);
};

const checkString: Check = ({ minLength, maxLength }, value, run) => {
  if (typeof value !== "string" || (minLength === undefined && maxLength === undefined)) return;
  count(run, value.length / textPerStep);
  // A schema counts characters, not UTF-16 units.
  const length = Array.from(value).length;
  if (typeof minLength === "number" && length < minLength)
    throw misfit(run, `must have at least ${minLength} characters`);
  if (typeof maxLength === "number" && length > maxLength)
    throw misfit(run, `must have at most ${maxLength} characters`);
};

const checkArray: Check = ({ items, prefixItems, minItems, maxItems }, value, run, depth, fills) => {
  if (!Array.isArray(value)) return;
  if (typeof minItems === "number" && value.length < minItems)
    throw misfit(run, `must have at least ${minItems} items`);
  if (typeof maxItems === "number" && value.length > maxItems) throw misfit(run, `must have at most ${maxItems} items`);
  // Before `prefixItems` there was a list in `items`.
  const first = list(prefixItems ?? items);
  const rest = Array.isArray(items) ? undefined : items;
  for (const [index, each] of value.entries()) {
    const schema: unknown = index < first.length ? first[index] : rest;
    if (schema !== undefined) inside(index, run, () => check(schema, each, run, depth + 1, fills));
  }
};

const checkObject: Check = (schema, value, run, depth, fills) => {
  if (!isObject(value)) return;
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  for (const [key, each] of Object.entries(properties)) {
    count(run, 1);
    if (forbiddenKeys.has(key)) continue;
    if (!Object.hasOwn(value, key)) {
      const added = fills ? defaultOf(each, run) : undefined;
      if (added === undefined) continue;
      value[key] = added;
    }
    inside(key, run, () => check(each, value[key], run, depth + 1, fills));
  }
  for (const key of list(schema["required"]))
    if (typeof key === "string" && !Object.hasOwn(value, key)) throw misfit(run, `needs ${JSON.stringify(key)}`);
  checkOthers(schema, properties, value, run, depth, fills);
};

/** Members that the schema does not name. Which ones a pattern names is not known, because patterns are not run. */
function checkOthers(
  { additionalProperties: others, patternProperties }: JsonObject,
  properties: JsonObject,
  value: JsonObject,
  run: Run,
  depth: number,
  fills: boolean,
): void {
  if (
    others === undefined ||
    others === true ||
    (isObject(patternProperties) && Object.keys(patternProperties).length > 0)
  )
    return;
  for (const key of Object.keys(value))
    if (!Object.hasOwn(properties, key)) inside(key, run, () => check(others, value[key], run, depth + 1, fills));
}

const checks: readonly Check[] = [checkType, checkEnum, checkNumber, checkString, checkArray, checkObject];

function checkSome(alternatives: readonly unknown[], value: unknown, run: Run, depth: number): void {
  if (alternatives.length === 0) return;
  const fits = alternatives.some((each) => {
    const at = run.path.length;
    try {
      check(each, value, run, depth + 1, false);
      return true;
    } catch (error) {
      if (error instanceof TooLarge) throw error;
      run.path.length = at;
      return false;
    }
  });
  if (!fits) throw misfit(run, "fits none of the alternatives");
}

/** The default of a property, also if the schema of the property is a reference. */
function defaultOf(schema: unknown, run: Run): unknown {
  let found: unknown = schema;
  for (let hops = 0; isObject(found) && !Object.hasOwn(found, "default"); hops += 1) {
    if (typeof found["$ref"] !== "string" || hops > maxDepth) return undefined;
    found = resolve(run.root, found["$ref"]);
  }
  if (!isObject(found) || found["default"] === undefined) return undefined;
  const text = JSON.stringify(found["default"]);
  run.text += text.length;
  if (run.text > maxDefaultText) throw new TooLarge();
  return JSON.parse(text) as unknown;
}

/** The schema that a reference inside the document points to. Other documents are not read. */
function resolve(root: unknown, reference: string): unknown {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let found = root;
  for (const segment of reference.slice(2).split("/")) {
    const key = decode(segment).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as JsonObject)[key];
  }
  return found;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function hasType(type: string, value: unknown): boolean {
  if (type === "integer") return typeof value === "number" && Number.isInteger(value);
  // A word that is no type of JSON says nothing.
  return type === typeOf(value) || !jsonTypes.has(type);
}

const jsonTypes: ReadonlySet<string> = new Set(["null", "boolean", "number", "string", "array", "object"]);

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function count(run: Run, steps: number): void {
  run.steps += steps;
  if (run.steps > maxSteps) throw new TooLarge();
}

function inside(key: PathSegment, run: Run, work: () => void): void {
  run.path.push(key);
  work();
  run.path.pop();
}

function misfit({ path }: Run, problem: string): Error {
  return new Error(`The argument at ${jsonPath(path)} ${problem}.`);
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
