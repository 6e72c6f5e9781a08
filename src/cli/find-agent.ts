/** What an agent file offers to the server. */
export interface FoundAgent {
  agent: unknown;
  /** The name of the export that it was found in. */
  name: string;
  /** ADK plugins, if the file exports an `App`. */
  plugins: unknown[];
}

type Exports = Readonly<Record<string, unknown>>;

/** The names that are looked at first, in this order. Functions with these names are called. */
const usual = ["rootAgent", "agent", "app", "default"];

/**
 * The agent of a file: its export `rootAgent`, `agent`, `app` or `default`, or the only agent among its other exports. Any of
 * them may be a function that returns an agent or promises one. Throws a sentence that names the exports if there is none.
 */
export async function findAgent(exports: Exports, file: string): Promise<FoundAgent> {
  // A CommonJS file has all its exports in `default` as well.
  const inDefault = isObject(exports["default"]) && !isNode(exports["default"]) ? exports["default"] : {};
  const all: Exports = { ...inDefault, ...exports };
  for (const name of usual) {
    const value = Object.hasOwn(all, name) ? await toValue(all[name]) : undefined;
    if (isApp(value)) return { agent: value.rootAgent, name, plugins: value.plugins ?? [] };
    if (isNode(value)) return { agent: value, name, plugins: [] };
  }
  const others = Object.entries(all).filter(([, value]) => isNode(value));
  const below = new Set(others.flatMap(([, value]) => allBelow(value)));
  const roots = others.filter(([, value]) => !below.has(value));
  if (roots.length > 1)
    throw new Error(
      `${file} exports several agents: ${roots.map(([name]) => name).join(", ")}. Export the one to run as rootAgent.`,
    );
  const made = roots.length === 1 ? roots[0] : await callMaker(all);
  if (made) return { agent: made[1], name: made[0], plugins: [] };
  // A CommonJS file that exports nothing has an empty object.
  const names = Object.keys(all).filter((name) => name !== "module.exports" && !isEmpty(all[name]));
  throw new Error(
    `${file} exports no agent. Export one as rootAgent, agent or default; ${
      names.length === 0 ? "the file exports nothing" : `the exports are ${names.slice(0, 20).join(", ")}`
    }.`,
  );
}

function isEmpty(value: unknown): boolean {
  return isObject(value) && Object.getPrototypeOf(value) === Object.prototype && Object.keys(value).length === 0;
}

/** A function such as `createAgent`, if there is exactly one. */
async function callMaker(all: Exports): Promise<[string, unknown] | undefined> {
  const makers = Object.entries(all).filter(
    ([name, value]) => typeof value === "function" && !isClass(value) && /agent$/i.test(name),
  );
  const [maker] = makers;
  if (makers.length !== 1 || !maker) return undefined;
  const value = await toValue(maker[1]);
  return isNode(value) ? [maker[0], value] : undefined;
}

async function toValue(value: unknown): Promise<unknown> {
  return typeof value === "function" && !isClass(value) ? await (value as () => unknown)() : await value;
}

function isClass(value: unknown): boolean {
  return typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value));
}

/** Agents and workflows. The bridge says itself which of them it can run. */
function isNode(value: unknown): value is { name: string; subAgents?: unknown[] } {
  if (!isObject(value)) return false;
  const marks = ["google.adk.baseAgent", "google.adk.workflow.baseNode"];
  return marks.some((mark) => (value as Record<symbol, unknown>)[Symbol.for(mark)] === true);
}

function isApp(value: unknown): value is { rootAgent: unknown; plugins?: unknown[] } {
  return isObject(value) && (value as Record<symbol, unknown>)[Symbol.for("google.adk.app")] === true;
}

function allBelow(value: unknown): unknown[] {
  const children = isNode(value) && Array.isArray(value.subAgents) ? value.subAgents : [];
  return children.flatMap((child) => [child, ...allBelow(child)]);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
