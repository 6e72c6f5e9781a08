import type { Context } from "@google/adk";
import type { JsonObject } from "../stores/index.ts";

/** What a tool gave, as the object that a model is told: JSON, with ADK's shapes for results that are not objects. */
export function toObject(value: unknown): JsonObject {
  if (value === undefined || value === null) return { result: null };
  if (Array.isArray(value)) return toJson({ results: value });
  return toJson(typeof value === "object" ? value : { result: value });
}

/** True where a result would be stored and sent as another one than it is, or not at all. */
export function needsWriting(value: unknown): boolean {
  if (value === undefined || value === null) return false;
  return !isJson(value) || (typeof value === "object" && !isObject(JSON.parse(JSON.stringify(value))));
}

/** Takes out of a call's state what cannot be written as JSON, and says how much that was. */
export function dropUnwritable({ actions: { stateDelta } }: Context): number {
  const unwritable = Object.keys(stateDelta).filter((name) => !isJson(stateDelta[name]));
  for (const name of unwritable) delete stateDelta[name];
  return unwritable.length;
}

/** The tool has run: a result that is not JSON must not turn its success into a failure. */
function toJson(value: object): JsonObject {
  if (!isJson(value)) return { result: "The tool ran; its result could not be written as JSON." };
  const written = JSON.parse(JSON.stringify(value)) as unknown;
  return isObject(written) ? written : { result: written };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
}
