/** The value as JSON would store it: without undefined fields, and without any reference to the original. */
export function toJsonCopy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
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
