import type { BaseTool, Context, InvocationContext } from "@google/adk";
import type { HeldCall } from "./run-scope.ts";

/** What ADK gives the callbacks of the gate, and what they return. */

export interface Invocation {
  invocationContext: InvocationContext;
}

export interface ModelCallback {
  callbackContext: Context;
}

export interface ToolCallback {
  tool: BaseTool;
  toolArgs: Args;
  toolContext: Context;
}

export type Args = Record<string, unknown>;
export type Result = Record<string, unknown>;

/** What the gate knows of a call that it is about to hold, beside the call itself. */
export type Held = Pick<HeldCall, "gated" | "external" | "hint" | "payload" | "innerSession" | "hasRun">;
