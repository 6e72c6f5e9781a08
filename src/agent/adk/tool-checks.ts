import { type BaseTool, type Context, isFunctionTool } from "@google/adk";
import { atMost } from "../support/index.ts";
import { argumentsError, inputOf } from "./call-input.ts";

/** How long a tool may think about whether a person has to approve a call. */
const predicateMs = 10_000;

type Args = Record<string, unknown>;
type ErrorResult = { error: string };

/**
 * Whether the tool itself wants a person to approve the call, or the error to give the model instead. When the tool cannot
 * say, a person is asked.
 */
export async function toolWantsApproval(
  tool: BaseTool,
  args: Args,
  context: Context,
  ms = predicateMs,
): Promise<boolean | ErrorResult> {
  try {
    // A predicate in plain JavaScript may return any value. Undecided means yes.
    let asks: unknown = true;
    const judge = async () => (asks = await tool.checkRequireConfirmation(args, context));
    await atMost(ms, judge());
    return Boolean(asks);
  } catch (error) {
    // A `FunctionTool` validates the arguments before its predicate, so this is a mistake that the model can correct.
    return isFunctionTool(tool) ? argumentsError(tool, error) : true;
  }
}

/** The error for arguments that the tool would refuse: a person is not asked about those. */
export function invalidArguments(tool: BaseTool, args: Args): ErrorResult | undefined {
  return inputOf(tool, args).error;
}
