import { type BaseTool, type Context, isFunctionTool } from "@google/adk";
import { describeError } from "../support/index.ts";
import { parseArguments } from "./bound-arguments.ts";

type Args = Record<string, unknown>;
type ErrorResult = { error: string };

/**
 * Whether the tool itself wants a person to approve the call, or the error to give the model instead. When the tool cannot
 * say, a person is asked.
 */
export async function toolWantsApproval(tool: BaseTool, args: Args, context: Context): Promise<boolean | ErrorResult> {
  try {
    // A predicate in plain JavaScript may return any value.
    const asks: unknown = await tool.checkRequireConfirmation(args, context);
    return Boolean(asks);
  } catch (error) {
    // A `FunctionTool` validates the arguments before its predicate, so this is a mistake that the model can correct.
    return isFunctionTool(tool) ? errorOf(tool, error) : true;
  }
}

/** The error for arguments that the tool would refuse: a person is not asked about those. */
export function invalidArguments(tool: BaseTool, args: Args): ErrorResult | undefined {
  try {
    parseArguments(tool, args);
    return undefined;
  } catch (error) {
    return errorOf(tool, error);
  }
}

/**
 * The arguments that the tool function will get, with the defaults and changes of the tool's schema. Arguments that do not
 * fit the schema are returned as they are: the tool refuses them.
 */
export function parsedArguments(tool: BaseTool, args: Args): Args {
  try {
    return parseArguments(tool, args);
  } catch {
    return args;
  }
}

function errorOf({ name }: BaseTool, error: unknown): ErrorResult {
  return { error: `Error in tool '${name}': ${describeError(error)}` };
}
