import type { EffectClass } from "../protocol/index.ts";

/** What the server knows of a tool beyond the tool's own code, by name. It can ask for approval, never waive it. */
export interface ToolPolicy {
  /** Ask a person first; also for tools ADK itself never gates (custom `BaseTool`, MCP toolsets, `AgentTool`). */
  confirm?: true | ((args: Record<string, unknown>) => boolean | Promise<boolean>);
  /** What a crash in the middle of the call means; `opaque` when not said. */
  effect?: EffectClass;
  /** For `queryable` tools: the outcome of the attempt with this idempotency key, if it took effect. */
  lookup?: (idempotencyKey: string) => Promise<Record<string, unknown> | undefined>;
}
export type ToolPolicies = ReadonlyMap<string, ToolPolicy>;
