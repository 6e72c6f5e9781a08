import type { EffectClass } from "../../protocol/index.ts";

/** What the server knows about a tool beyond the tool's own code, by name. It can ask for approval but never waive it. */
export interface ToolPolicy {
  /**
   * Ask a person first. A function gets the arguments as the tool will get them: with the defaults of its schema. Also for
   * tools that ADK itself never gates: a custom `BaseTool`, MCP toolsets, `AgentTool`.
   */
  confirm?: true | ((args: Record<string, unknown>) => boolean | Promise<boolean>);
  /** What a crash in the middle of the call means. Default `opaque`. */
  effect?: EffectClass;
  /** For `queryable` tools: the outcome of the attempt with this idempotency key, if it took effect. */
  lookup?: (idempotencyKey: string) => Promise<Record<string, unknown> | undefined>;
}
export type ToolPolicies = ReadonlyMap<string, ToolPolicy>;
