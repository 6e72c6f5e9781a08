import type { FunctionCall } from "@google/genai";
import type { LiveSettings } from "./live-host.ts";
import type { LiveSetup } from "./live-messages.ts";

/** The name of the model without `models/`. */
export function toModelName(model: string): string {
  return model.replace(/^models\//, "");
}

/**
 * Whether the model waits for the responses to these calls. It continues only if every called tool is declared
 * `NON_BLOCKING`; the settings can overrule the declarations.
 */
export function isBlocking(
  calls: readonly FunctionCall[],
  setup: LiveSetup | undefined,
  behavior: LiveSettings["behavior"],
): boolean {
  if (behavior !== undefined) return behavior === "BLOCKING";
  const declared = (setup?.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []);
  const nonBlocking = new Set(declared.flatMap((tool) => (tool.behavior === "NON_BLOCKING" ? [tool.name] : [])));
  return !calls.every(({ name = "" }) => nonBlocking.has(name));
}
