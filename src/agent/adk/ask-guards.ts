import {
  type BaseTool,
  Context,
  InvocationContext,
  isLlmAgent,
  type LlmAgent,
  type ToolConfirmation,
} from "@google/adk";
import type { JsonObject } from "../../stores/index.ts";
import { describeError, type Logger, within } from "../support/index.ts";
import type { CallInput } from "./call-input.ts";
import { toObject } from "./tool-result.ts";

/** How long the callbacks before a tool may take. */
const guardMs = 10_000;

interface GuardedCall {
  agent: LlmAgent | undefined;
  tool: BaseTool;
  args: Record<string, unknown>;
  context: Context;
}

/**
 * Asks the callbacks that ADK asks before a tool: first those of the plugins, then those of the agent. A value that one of
 * them returns replaces the tool's result, so the tool does not run. Throws when one throws or takes too long.
 */
export function askGuards({ agent, tool, args, context }: GuardedCall, ms = guardMs): Promise<unknown> {
  const ask = async () => {
    const { pluginManager } = context.invocationContext;
    let result: unknown = await pluginManager.runBeforeToolCallback({ tool, toolArgs: args, toolContext: context });
    for (const callback of result == null ? (agent?.canonicalBeforeToolCallbacks ?? []) : []) {
      result = await callback({ tool, args, context });
      if (result) break;
    }
    return result;
  };
  return within(
    ms,
    ask(),
    () => new Error(`The callbacks before the tool took longer than ${ms / 1000} seconds; it was not run.`),
  );
}

/** What the guards say about a call that is about to be held. */
export interface GuardsSaid {
  /** The result of a call that they refuse. */
  refusal?: JsonObject;
  /** They want a person to approve the call. */
  question?: { hint: string | undefined; payload: unknown };
  /** What they have made of the arguments, if they changed them. */
  changed?: JsonObject;
}

/**
 * Asks the guards about a call that is about to be held. They are asked before a person is, and again when the call runs.
 * If they cannot say, no one is asked and nothing runs.
 */
export async function tryGuards(
  { tool, input, context }: { tool: BaseTool; input: CallInput; context: Context },
  { pass, logger }: { pass: (trial: Context) => void; logger: Logger },
): Promise<GuardsSaid> {
  const { agent } = context.invocationContext;
  const trial = trialContext(context);
  // Without this the gate would be asked about the call once more.
  pass(trial);
  // A copy: what a guard changes here has no effect on a gated call. If it changes it after the yes, the tool does not run.
  const args = JSON.parse(input.raw) as JsonObject;
  try {
    const guarded = { agent: agent && isLlmAgent(agent) ? agent : undefined, tool, args, context: trial };
    const result = await askGuards(guarded);
    const changed = input.isOf(args) ? {} : { changed: args };
    const question = questionOf(trial);
    // What a guard returns with its question is for ADK, which would ask with the next event.
    if (question) return { ...changed, question: { hint: question.hint, payload: question.payload } };
    if (result == null) return changed;
    keepTrial(trial, context);
    return { refusal: toObject(result) };
  } catch (error) {
    logger.error("A callback before a tool failed; no one is asked.", { tool: tool.name, error: describeError(error) });
    return { refusal: { error: "A callback before the tool failed; the tool was not run." } };
  }
}

/** The confirmation that a callback or the tool has asked ADK for. */
export function questionOf({ actions, functionCallId = "" }: Context): ToolConfirmation | undefined {
  return actions.requestedToolConfirmations[functionCallId];
}

/** What guards do to the state before the question must not count twice, so they get a copy of it. */
function trialContext({ invocationContext, functionCallId }: Context): Context {
  const { session } = invocationContext;
  const fields: ConstructorParameters<typeof InvocationContext>[0] = invocationContext;
  const copy = { ...session, state: { ...session.state }, events: [...session.events] };
  return new Context({
    invocationContext: new InvocationContext({ ...fields, session: copy }),
    ...(functionCallId !== undefined && { functionCallId }),
  });
}

/** Lets what the guards did take effect: they have refused the call, so they are not asked again. */
function keepTrial(trial: Context, context: Context): void {
  const { stateDelta, requestedToolConfirmations: _, ...actions } = trial.actions;
  context.state.update(stateDelta);
  Object.assign(context.actions, actions);
}
