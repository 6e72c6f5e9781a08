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
  /** How long a person has to answer. Default: `approvalTtlMs` of the bridge. */
  expiresMs?: number;
  /** How long after a yes the call may still start. Default: `startMs` of the bridge. */
  startMs?: number;
  /** How long the tool may take; then its `toolContext.abortSignal` aborts. Default: no limit. */
  timeoutMs?: number;
  /** How long after its beginning the result of a long-running tool or a browser tool may be reported. Default 24 hours. */
  reportMs?: number;
}
export type ToolPolicies = ReadonlyMap<string, ToolPolicy>;
