/**
 * Everything that touches `@google/adk`. No other folder imports values from it; types are free. Each repair of ADK is a
 * function or class here that names its contract (K1, K2, …; docs/design/adk.md), tested in test/contracts/adk.test.ts.
 *
 *   history, new-events, event-metadata     events in, events out
 *   agents, agent-tool, client-tool         the tree of agents and its tools
 *   toolsets, guarded-toolset               which toolset brings which tools, with a time limit
 *   refuse-agents                           what cannot be gated, refused when the bridge starts
 *   session-service, runners, request-run   sessions on our store, and runs by request
 *   finished-contents, request-texts        a long history is not converted again for each request
 *   gate-plugin, gathered-calls, tool-…     the gate in front of every tool, and tools outside ADK's loop
 *   model-record                            what the model is asked, for the inspector
 *   live/                                   the connection to a live model
 */
export { agentTools, requireAgent } from "./agents.ts";
export { deleteArtifacts } from "./chat-artifacts.ts";
export { defineAgent, type DefinedToolOptions, defineTool } from "./define-agent.ts";
export { clientTool } from "./client-tool.ts";
export { guardCompaction } from "./compaction.ts";
export { EventCache } from "./event-cache.ts";
export { rememberContents } from "./finished-contents.ts";
export { GatePlugin } from "./gate-plugin.ts";
export { idempotencyKey } from "./idempotency-key.ts";
export { createModelRecord, type ModelExchange, type ModelRecord } from "./model-record.ts";
export { type AgentOutline, findOtherModel, memoryServices, outlineAgent, quietAdk } from "./outline-agent.ts";
export { refuseAgents, refuseToolsets } from "./refuse-agents.ts";
export { type AdkServices, Runners } from "./runners.ts";
export { StoreSessionService } from "./session-service.ts";
export { ToolCalls } from "./tool-calls.ts";
export { Toolsets } from "./toolsets.ts";
