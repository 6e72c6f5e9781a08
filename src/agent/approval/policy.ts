import type { CardField, CardTone, EffectClass, LocalText } from "../../protocol/index.ts";

/** Who makes a call, and where. A copy: changing it changes nothing. */
export interface PolicyContext {
  /** The name of the tool, as the model calls it. */
  readonly tool: string;
  /** Whose chat it is. */
  readonly owner: string;
  /** Who sent the message that the agent answers. The owner, unless `authenticate` says otherwise. */
  readonly actor: string;
  /** The state of the session. */
  readonly state: Readonly<Record<string, unknown>>;
}

/** What the server knows about a tool beyond the tool's own code. It can ask for approval but never waive it. */
export interface ToolPolicy extends CardPolicy {
  /**
   * Ask a person first. A function gets the arguments as the tool will get them, with the defaults of its schema; if it
   * throws or takes longer than 10 seconds, a person is asked. Works for tools that ADK itself never gates too: a custom
   * `BaseTool`, MCP toolsets, `AgentTool`. `false` is the same as no `confirm`: it waives nothing.
   */
  confirm?: boolean | ((args: Record<string, unknown>, context: PolicyContext) => boolean | Promise<boolean>);
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

/** What the card says about a call of the tool beside its arguments. Every text can be one string or `{ en: "…", ja: "…" }`. */
export interface CardPolicy {
  /** What a call does, in a few words. Shown with the tool's name. */
  title?: LocalText;
  /**
   * A sentence about the call. A function gets the arguments as the card shows them, when the call is held. If it throws or
   * takes longer than a second, the card has no hint. It takes precedence over the hint that the tool gives to ADK.
   */
  hint?: LocalText | ((args: Record<string, unknown>) => HintResult | Promise<HintResult>);
  /** One character, for example an emoji. */
  icon?: string;
  /** How much care the decision needs. */
  tone?: CardTone;
  /** Labels and formats of the arguments, by their names. */
  fields?: Record<string, CardField>;
}
type HintResult = LocalText | undefined;

/** The policies of a bridge: its options `tools`, `toolsets` and `unlisted`. */
export interface PolicyOptions {
  /** What the server knows of single tools, by the name that the model calls. Default: nothing. */
  tools?: Record<string, ToolPolicy>;
  /**
   * For every tool that a toolset brings. What `tools` says about such a tool comes first, field by field; a person is asked
   * if either of the two asks. Default: toolsets are asked about only if `tools` or `unlisted` say so.
   */
  toolsets?: ToolPolicy;
  /** What happens to calls of tools that neither `tools` nor a `confirm` of `toolsets` speaks of. Default `run`. */
  unlisted?: "run" | "confirm";
}

/** Finds a tool's policy by its name. */
export type ToolPolicies = Pick<ReadonlyMap<string, ToolPolicy>, "get">;
