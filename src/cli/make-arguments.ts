/**
 * Makes arguments for a tool from the schema of its parameters, so that a scripted model can call any tool. It reads both
 * forms in which Gemini takes schemas: its own (`type: "STRING"`) and JSON Schema (`type: "string"`).
 */
export function makeArguments(schema: unknown): Record<string, unknown> {
  const root = isObject(schema) ? schema : {};
  const value = makeValue(root, { name: "", root, depth: 0 });
  return isObject(value) ? value : {};
}

/** A value that fits a schema, as far as a schema can be fitted without searching. */
export function makeJson(schema: unknown): unknown {
  const root = isObject(schema) ? schema : {};
  return makeValue(root, { name: "", root, depth: 0 });
}

type Schema = Record<string, unknown>;

interface Place {
  /** The name of the field, which is part of a made text. */
  name: string;
  /** The whole schema, for references. */
  root: Schema;
  depth: number;
}

/** Deeper values are left out, because a schema may contain itself. */
const maxDepth = 8;
/** A schema may ask for any number of items or characters. */
const maxItems = 20;
const maxLength = 2000;

function makeValue(given: Schema, place: Place): unknown {
  const schema = resolve(given, place.root);
  if ("const" in schema) return schema["const"];
  if (schema["default"] !== undefined) return schema["default"];
  if (schema["example"] !== undefined) return schema["example"];
  if (Array.isArray(schema["examples"]) && schema["examples"].length > 0) return schema["examples"][0] as unknown;
  const type = typeOf(schema);
  if (Array.isArray(schema["enum"]) && schema["enum"].length > 0) return toType(schema["enum"][0], type);
  const choices = [schema["anyOf"], schema["oneOf"]].filter(Array.isArray).flat();
  const choice = choices.filter(isObject).find(isNotNull);
  if (choice) return makeValue({ ...without(schema, ["anyOf", "oneOf"]), ...choice }, place);
  switch (type) {
    case "object":
      return makeObject(schema, place);
    case "array":
      return makeArray(schema, place);
    case "integer":
    case "number":
      return makeNumber(schema, type);
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return makeText(schema, place.name);
  }
}

function makeObject(schema: Schema, place: Place): Record<string, unknown> {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? schema["required"].map(String) : [];
  if (place.depth >= maxDepth) return {};
  const made: [string, unknown][] = required
    .filter((name) => Object.hasOwn(properties, name))
    .map((name) => {
      const property = properties[name];
      return [name, makeValue(isObject(property) ? property : {}, { ...place, name, depth: place.depth + 1 })];
    });
  return Object.fromEntries(made);
}

function makeArray(schema: Schema, place: Place): unknown[] {
  const inside = { ...place, depth: place.depth + 1 };
  if (Array.isArray(schema["prefixItems"]))
    return schema["prefixItems"].map((item) => makeValue(isObject(item) ? item : {}, inside));
  if (place.depth >= maxDepth) return [];
  const count = Math.min(Math.max(numberOf(schema["minItems"]) ?? 1, 0), maxItems, numberOf(schema["maxItems"]) ?? 1e9);
  const items = isObject(schema["items"]) ? schema["items"] : {};
  return Array.from({ length: count }, (_, index) => {
    const item = makeValue(items, inside);
    const isRepeated = schema["uniqueItems"] === true && index > 0 && typeof item === "string";
    return isRepeated ? `${item} ${index + 1}` : item;
  });
}

/** The smallest number above 0 that the bounds allow, or the largest if all are below. */
function makeNumber(schema: Schema, type: "integer" | "number"): number {
  const step = numberOf(schema["multipleOf"]) ?? 1;
  const low = numberOf(schema["minimum"]);
  const high = numberOf(schema["maximum"]);
  const above = numberOf(schema["exclusiveMinimum"]);
  const below = numberOf(schema["exclusiveMaximum"]);
  const fits = (value: number) =>
    value >= (low ?? -Infinity) &&
    value <= (high ?? Infinity) &&
    value > (above ?? -Infinity) &&
    value < (below ?? Infinity);
  const start = low ?? above ?? Math.min(high ?? below ?? step, step);
  const rounded = Math.ceil(start / step) * step;
  const wholes = [step, rounded, rounded + step, Math.floor((high ?? below ?? rounded) / step) * step, rounded - step];
  const found = wholes.find(fits);
  if (found !== undefined) return found;
  if (type === "integer") return Math.ceil(start);
  return ((low ?? above ?? start) + (high ?? below ?? start)) / 2;
}

const formats: Readonly<Record<string, string>> = {
  "date-time": "2026-01-15T09:00:00Z",
  date: "2026-01-15",
  time: "09:00:00Z",
  duration: "PT1H",
  email: "hanako@example.com",
  hostname: "example.com",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  uri: "https://example.com/",
  url: "https://example.com/",
  "uri-reference": "/example",
  uuid: "00000000-0000-4000-8000-000000000000",
  byte: "ZXhhbXBsZQ==",
  base64: "ZXhhbXBsZQ==",
};

function makeText(schema: Schema, name: string): string {
  const format = typeof schema["format"] === "string" ? schema["format"].toLowerCase() : "";
  const least = Math.min(numberOf(schema["minLength"]) ?? 0, maxLength);
  const most = numberOf(schema["maxLength"]) ?? Infinity;
  const plain = `example ${name.replaceAll(/[_-]+/g, " ")}`.trim();
  const texts = [formats[format], plain, ...Object.values(formats), "1", "A", "a", "AAA", "123", "2026"].flatMap(
    (text) => (text === undefined ? [] : [text.padEnd(least, ".").slice(0, most)]),
  );
  const pattern = typeof schema["pattern"] === "string" ? toPattern(schema["pattern"]) : undefined;
  return (pattern && texts.find((text) => pattern.test(text))) ?? texts[0] ?? "";
}

function toPattern(source: string): RegExp | undefined {
  try {
    return new RegExp(source, "u");
  } catch {
    return undefined;
  }
}

/** Follows `$ref` within the schema and joins `allOf`. */
function resolve(schema: Schema, root: Schema): Schema {
  let found = schema;
  for (let steps = 0; typeof found["$ref"] === "string" && steps < maxDepth; steps += 1) {
    const path = found["$ref"].replace(/^#\/?/, "").split("/").filter(Boolean);
    const target = path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), root);
    found = { ...without(found, ["$ref"]), ...(isObject(target) ? target : {}) };
  }
  if (!Array.isArray(found["allOf"])) return found;
  const parts = found["allOf"].filter(isObject).map((part) => resolve(part, root));
  const all = [without(found, ["allOf"]), ...parts];
  const joined: Schema = Object.assign({}, ...all) as Schema;
  const properties: Schema = Object.assign({}, ...all.map((part) => part["properties"] ?? {})) as Schema;
  const required = all.flatMap((part) => (Array.isArray(part["required"]) ? part["required"] : []));
  return { ...joined, ...(Object.keys(properties).length > 0 && { properties, required }) };
}

function typeOf(schema: Schema): string {
  const types = [schema["type"]].flat().filter((type) => typeof type === "string");
  const type = types.map((name) => name.toLowerCase()).find((name) => name !== "null") ?? types[0]?.toLowerCase();
  if (type !== undefined && type !== "type_unspecified") return type;
  if (isObject(schema["properties"])) return "object";
  return schema["items"] === undefined ? "string" : "array";
}

/** Gemini's own schemas write every value of an enum as a text. */
function toType(value: unknown, type: string): unknown {
  const isNumber = (type === "integer" || type === "number") && typeof value === "string";
  return isNumber && Number.isFinite(Number(value)) ? Number(value) : value;
}

function isNotNull(schema: Schema): boolean {
  return typeOf(schema) !== "null";
}

/** Gemini's own schemas write some numbers as text. */
function numberOf(value: unknown): number | undefined {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

function without(schema: Schema, names: readonly string[]): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => !names.includes(name)));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
