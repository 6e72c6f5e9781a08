/** The value as JSON would store it: without undefined fields, and without any reference to the original. */
export function toJsonCopy<T>(value: T): T {
  const copy = copyPlain(value);
  return (copy === notPlain ? JSON.parse(JSON.stringify(value)) : copy) as T;
}

/** Stands for a value that JSON stores as something else, or cannot store. */
const notPlain = Symbol("not plain");

/** Deeper than any chunk or event. */
const maxDepth = 200;

/** A copy of a value that JSON stores as it is, but for undefined fields. Several times faster than going through text. */
function copyPlain(value: unknown, depth = 0): unknown {
  if (typeof value === "string" || typeof value === "boolean" || value === null) return value;
  // JSON has no -0.
  if (typeof value === "number") return Number.isFinite(value) ? value + 0 : notPlain;
  // JSON says which values contain themselves.
  if (typeof value !== "object" || depth > maxDepth) return notPlain;
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const each of value as unknown[]) {
      const item = copyPlain(each, depth + 1);
      if (item === notPlain) return notPlain;
      items.push(item);
    }
    return items;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if ((prototype !== Object.prototype && prototype !== null) || "toJSON" in value) return notPlain;
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const field = (value as Record<string, unknown>)[name];
    if (field === undefined) continue;
    const inner = copyPlain(field, depth + 1);
    if (inner === notPlain || name === "__proto__") return notPlain;
    copy[name] = inner;
  }
  return copy;
}

/** A copy of a value that is JSON already; several times faster than going through text. */
export function copyJson<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copyJson) as T;
  const copy: Record<string, unknown> = {};
  for (const name in value) {
    const field = copyJson(value[name]);
    // An assignment would set the prototype; in JSON this is a name like any other.
    if (name === "__proto__") Object.defineProperty(copy, name, { ...ordinary, value: field });
    else copy[name] = field;
  }
  return copy as T;
}

const ordinary = { configurable: true, enumerable: true, writable: true };
