/** A number of events at once, and how many more each second after that. */
export interface Rate {
  size: number;
  perSecond: number;
}

/**
 * The limits of an option: what is given, and the defaults for the rest. Throws a sentence about the first wrong one. The
 * defaults say which names there are and what each is: a rate, a duration (the name ends with `Ms`) or a count.
 */
export function readLimits<T extends { [Name in keyof T]: number | Rate }>(given: unknown, defaults: T): T {
  if (given === undefined) return defaults;
  if (!isObject(given)) throw new Error("The option limits must be an object with a number for each limit.");
  const limits: Record<string, number | Rate> = { ...defaults };
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const known = Object.hasOwn(limits, name) ? limits[name] : undefined;
    if (known === undefined)
      throw new Error(`There is no limit named ${name} here; the limits are ${Object.keys(defaults).join(", ")}.`);
    limits[name] = typeof known === "object" ? readRate(name, value) : readNumber(name, value);
  }
  return limits as T;
}

function readNumber(name: string, value: unknown): number {
  const isDuration = name.endsWith("Ms");
  const isNumber = typeof value === "number" && value > 0;
  if (isNumber && (isDuration || value === Infinity || Number.isSafeInteger(value))) return value;
  const expected = isDuration ? "a number of milliseconds" : "a whole number";
  throw new Error(`The limit ${name} must be ${expected}, greater than 0; it is ${show(value)}.`);
}

function readRate(name: string, value: unknown): Rate {
  const { size, perSecond } = isObject(value) ? value : {};
  const isRight = (each: unknown): each is number => typeof each === "number" && each > 0;
  if (isRight(size) && size >= 1 && isRight(perSecond)) return { size, perSecond };
  throw new Error(`The limit ${name} must be { size, perSecond }, two numbers greater than 0; it is ${show(value)}.`);
}

/** A wrong value in a sentence. Objects are named by their kind: they may be large, or secret. */
function show(value: unknown): string {
  if (typeof value === "function") return "a function";
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "a list" : "an object";
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
