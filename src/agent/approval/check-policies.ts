import { checkNumber, showValue } from "../support/index.ts";
import { checkCard } from "./check-card.ts";
import type { PolicyOptions, ToolPolicy } from "./policy.ts";

const effects: ReadonlySet<unknown> = new Set<NonNullable<ToolPolicy["effect"]>>([
  "readonly",
  "idempotent",
  "queryable",
  "transactional",
  "opaque",
]);

/** How long a tool may take is checked as a time that is never zero: the tool would be aborted before it begins. */
const durations = {
  expiresMs: "duration",
  startMs: "duration",
  timeoutMs: "positive duration",
  reportMs: "duration",
} as const satisfies Partial<Record<keyof ToolPolicy, string>>;

/** Every field of a policy. A misspelt `confirm` would leave its tool ungated. */
const fields: readonly string[] = [
  ...["confirm", "effect", "lookup", "title", "hint", "icon", "tone", "fields"],
  ...Object.keys(durations),
];

/** Throws a sentence that names the first wrong option among `tools`, `toolsets` and `unlisted`. */
export function checkPolicies({ tools, toolsets, unlisted }: PolicyOptions): void {
  if (unlisted !== undefined && unlisted !== "run" && unlisted !== "confirm")
    throw new Error(`The option unlisted must be "run" or "confirm"; it is ${showValue(unlisted)}.`);
  if (toolsets !== undefined) checkPolicy("toolsets", toolsets);
  if (toolsets?.effect === "queryable" && !toolsets.lookup) throw needsLookup("toolsets");
  if (tools === undefined) return;
  if (!isRecord(tools)) throw new Error(`The option tools must be an object of policies; it is ${showValue(tools)}.`);
  for (const [name, policy] of Object.entries(tools)) {
    checkPolicy(`tools.${name}`, policy);
    if (policy.effect === "queryable" && !policy.lookup && !toolsets?.lookup) throw needsLookup(`tools.${name}`);
  }
}

function checkPolicy(name: string, policy: unknown): asserts policy is ToolPolicy {
  if (!isRecord(policy))
    throw new Error(`The option ${name} must be a policy, for example { confirm: true }; it is ${showValue(policy)}.`);
  const unknown = Object.keys(policy).find((field) => !fields.includes(field));
  if (unknown !== undefined)
    throw new Error(`The option ${name}.${unknown} does not exist. A policy may have: ${fields.join(", ")}.`);
  const { confirm, effect, lookup } = policy;
  if (confirm !== undefined && typeof confirm !== "boolean" && typeof confirm !== "function")
    throw new Error(`The option ${name}.confirm must be true or a function; it is ${showValue(confirm)}.`);
  if (effect !== undefined && !effects.has(effect))
    throw new Error(`The option ${name}.effect must be one of ${[...effects].join(", ")}; it is ${showValue(effect)}.`);
  if (lookup !== undefined && typeof lookup !== "function")
    throw new Error(`The option ${name}.lookup must be a function; it is ${showValue(lookup)}.`);
  for (const [field, kind] of Object.entries(durations)) checkNumber(`${name}.${field}`, policy[field], kind);
  checkCard(name, policy);
}

function needsLookup(name: string): Error {
  return new Error(`The option ${name}.effect is "queryable", so ${name}.lookup must be a function.`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
