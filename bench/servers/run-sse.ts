/**
 * ADK's own server, `/run_sse` of `@google/adk-devtools`, with the same agent. It is installed in `peers/` and is not a
 * dependency of this package, so it is loaded by file and its types are written here. Its sessions are in memory, which
 * is its default, or in its `DatabaseSessionService`.
 */
import type * as Adk from "@google/adk";
import { z } from "zod";
import { peerPackages } from "../peers.ts";
import { options, serve } from "./serve.ts";
import { wordsModel } from "./words-model.ts";

interface AdkApiServer {
  readonly url: string;
  start(): Promise<void>;
}
interface AgentFile extends AsyncDisposable {
  load(): Promise<Adk.BaseAgent>;
}
interface DevTools {
  AdkApiServer: new (options: {
    host: string;
    port: number;
    logLevel: number;
    sessionService?: Adk.BaseSessionService;
    agentLoader: { listAgents(): Promise<string[]>; getAgentFile(name: string): Promise<AgentFile> };
  }) => AdkApiServer;
}

interface Databases {
  DatabaseSessionService: new (address: string) => Adk.BaseSessionService & { init(): Promise<void> };
}

/** `sessions` is the address of a database. */
const { gemini, sessions } = options as { gemini?: string; sessions?: string };
if (gemini) {
  process.env["GOOGLE_GEMINI_BASE_URL"] = gemini;
  process.env["GOOGLE_GENAI_USE_VERTEXAI"] = "false";
}

const adk = (await import(peerPackages.adk)) as typeof Adk;
const tools = (await import(peerPackages.devTools)) as DevTools;
adk.setLogLevel(adk.LogLevel.ERROR);
const pay = new adk.FunctionTool({
  name: "pay",
  description: "Pays.",
  parameters: z.object({ amount: z.number() }),
  requireConfirmation: true,
  execute: () => ({ paid: true }),
});
const agent = new adk.LlmAgent({
  name: "bench",
  model: gemini ? new adk.Gemini({ model: "gemini-2.5-flash", apiKey: "none" }) : wordsModel(adk.BaseLlm),
  tools: [pay],
});
const { DatabaseSessionService } = (await import(peerPackages.databases)) as Databases;
const sessionService = sessions === undefined ? undefined : new DatabaseSessionService(sessions);
await sessionService?.init();
const server = new tools.AdkApiServer({
  host: "127.0.0.1",
  port: 0,
  logLevel: adk.LogLevel.ERROR,
  ...(sessionService && { sessionService }),
  agentLoader: {
    listAgents: async () => ["bench"],
    getAgentFile: async () => ({ load: async () => agent, [Symbol.asyncDispose]: async () => {} }),
  },
});
await server.start();
serve(server.url);
