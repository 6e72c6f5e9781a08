import type { BaseTool, Context } from "@google/adk";
import { describeError, type Logger } from "../support/index.ts";
import { questionOf } from "./ask-guards.ts";
import { type CallInput, inputOf } from "./call-input.ts";

type Run = BaseTool["runAsync"];
type Request = Parameters<Run>[0];

/** What a free call runs with, by its context. */
const bindings = new WeakMap<Context, (request: Request) => Promise<Request | undefined>>();
/** Our own `runAsync` methods. */
const bound = new WeakSet<Run>();

export const needsApproval =
  "A callback changed the arguments, and now a person would have to approve them; the tool was not run.";

interface Binding {
  /** True when a call with this input needs no approval. */
  isFree(input: CallInput): Promise<boolean>;
  /** Shows an input, unless it is shown. */
  show(input: CallInput): Promise<void>;
  logger: Logger;
}

/**
 * Makes ADK run a free call with exactly the input that is shown. ADK gives a tool what the callbacks have left of the
 * model's arguments, and the tool parses that again; there is no hook between the callbacks and the tool. So the tool gets
 * a `runAsync` that knows the calls bound here. All other calls run as before.
 *
 * Callbacks may change the arguments of a free call. What they made of them is judged and shown before it runs. Returns an
 * error for the model if the call cannot be bound.
 */
export async function bindFreeCall(
  tool: BaseTool,
  input: CallInput,
  context: Context,
  { isFree, show, logger }: Binding,
): Promise<{ error: string } | undefined> {
  try {
    await show(input);
    knowBoundCalls(tool);
  } catch (error) {
    logger.error("A call could not be bound to its input.", { tool: tool.name, error: describeError(error) });
    return { error: "The call could not be bound to its arguments; the tool was not run." };
  }
  bindings.set(context, async (request) => {
    // A callback wants a person to approve the call. The gate holds it after this.
    if (questionOf(context)) return undefined;
    const current = input.isOf(request.args) ? input : inputOf(tool, request.args);
    if (current.error) throw new Error(current.error.error);
    if (current !== input && !(await isFree(current))) throw new Error(needsApproval);
    await show(current);
    return { ...request, args: current.value() };
  });
  return undefined;
}

function knowBoundCalls(tool: BaseTool): void {
  const { runAsync } = tool;
  if (bound.has(runAsync)) return;
  const run: Run = async (request) => {
    const bind = bindings.get(request.toolContext);
    const current = bind ? await bind(request) : request;
    return current && runAsync.call(tool, current);
  };
  bound.add(run);
  Object.defineProperty(tool, "runAsync", { value: run, writable: true, configurable: true });
}
