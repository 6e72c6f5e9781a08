import type { Context } from "@google/adk";
import type { JsonObject } from "../../stores/index.ts";

/**
 * What a tool asks ADK to do beside giving a result. ADK acts on it when a tool runs in its loop; for a call that waited
 * it is stored with the outcome and takes effect when the model is told. State has a field of its own in the row, and
 * requests for confirmations or credentials are never stored.
 */
export interface ToolActions {
  /** The versions of the artifacts that the tool saved. */
  artifactDelta?: Record<string, number>;
  /** The agent that takes over. */
  transferToAgent?: string;
  /** Ends the loop that the agent runs in. */
  escalate?: true;
  /** The model is not asked about the result. */
  skipSummarization?: true;
}

/** The actions of a call that has run, as the ledger stores them. Undefined if there are none. */
export function takeActions({ actions }: Pick<Context, "actions">): JsonObject | undefined {
  const taken = readActions({ ...actions });
  return taken && { ...taken };
}

/** The known actions in a value; the rest of it is left out. */
export function readActions(value: JsonObject | undefined): ToolActions | undefined {
  const { artifactDelta, transferToAgent, escalate, skipSummarization } = value ?? {};
  const versions = Object.entries(typeof artifactDelta === "object" && artifactDelta ? artifactDelta : {}).filter(
    (entry): entry is [string, number] => typeof entry[1] === "number" && Number.isSafeInteger(entry[1]),
  );
  const actions: ToolActions = {
    ...(versions.length > 0 && { artifactDelta: Object.fromEntries(versions) }),
    ...(typeof transferToAgent === "string" && transferToAgent && { transferToAgent }),
    ...(escalate === true && { escalate }),
    ...(skipSummarization === true && { skipSummarization }),
  };
  return Object.keys(actions).length > 0 ? actions : undefined;
}

/** The actions of all calls of a step, merged as ADK merges them: later ones win. */
export function mergeActions(each: readonly (object | undefined)[]): ToolActions | undefined {
  const all = each.flatMap((value) => readActions(value && { ...value }) ?? []);
  if (all.length === 0) return undefined;
  const artifactDelta = Object.assign({}, ...all.map((actions) => actions.artifactDelta)) as Record<string, number>;
  return Object.assign({}, ...all, Object.keys(artifactDelta).length > 0 && { artifactDelta }) as ToolActions;
}
