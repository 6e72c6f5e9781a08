/** What `dev` and `serve` run on. This file is imported when the hooks are installed: all of it may import ADK. */
export { createConsoleLogger, quietAdk } from "../agent/index.ts";
export { sqliteStore } from "../stores/sqlite.ts";
export { startScriptedGemini } from "../testing/index.ts";
export { createAccessToken } from "./access-token.ts";
export { startAgentServer } from "./agent-server.ts";
export { loadAgent } from "./agent-source.ts";
export { scriptRules } from "./script-rules.ts";

/** Needs the package `pg`, so it is imported only if it is used. */
export const postgres = () => import("../stores/postgres.ts");
