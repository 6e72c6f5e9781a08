import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Gemini, LogLevel, setLogLevel } from "@google/adk";
import { createBridge, type Logger } from "adk-stream-protocol";
import { listen } from "adk-stream-protocol/server";
import { sqliteStore } from "adk-stream-protocol/stores/sqlite";
import { geminiAt, startScriptedGemini } from "adk-stream-protocol/testing";
import { demoRules } from "../script/demo-rules.ts";
import { createAgent } from "./agent.ts";
import { openDeployments } from "./deployments.ts";
import { createPolicies } from "./policies.ts";
import { readSettings, type Settings } from "./settings.ts";
import { loadStaticPage } from "./static-page.ts";
import { openWallet } from "./wallet.ts";

// A failed start prints one sentence and no stack: the port is taken, or another process uses the data directory.
process.on("uncaughtException", (error) => {
  console.error(error.message);
  process.exit(1);
});

const settings = readSettings(process.env);
mkdirSync(settings.dataDir, { recursive: true });
// ADK logs every request, which would hide the address of the demo.
setLogLevel(LogLevel.ERROR);
const logger: Logger = {
  info: () => undefined,
  warn: (message, fields) => console.warn(message, fields ?? ""),
  error: (message, fields) => console.error(message, fields ?? ""),
};

const gemini = await chooseGemini(settings);
const wallet = openWallet(join(settings.dataDir, "wallet.db"));
const deployments = openDeployments(join(settings.dataDir, "deployments.db"), settings.deployMs);
const store = sqliteStore({ path: join(settings.dataDir, "bridge.db") });
const page = loadStaticPage({ "/": builtPage("page-v7"), "/v6/": builtPage("page-v6") });
const bridge = await createBridge({
  agent: createAgent({ model: gemini.model, wallet, deployments, slowMs: settings.slowMs }),
  store,
  tools: createPolicies({ wallet, reportMs: settings.reportMs }),
  live: { model: settings.liveModel },
  ...(settings.approvalTtlMs === undefined ? {} : { approvalTtlMs: settings.approvalTtlMs }),
  logger,
});
const server = await listen({
  bridge,
  port: settings.port,
  host: settings.host,
  allowedOrigins: settings.allowedOrigins,
  logger,
  health: () => ({ model: settings.model, liveModel: settings.liveModel, scripted: settings.scripted }),
  fallback: (request) => {
    if (new URL(request.url).pathname === "/wallet") return walletResponse(request);
    return page.respond(request);
  },
});

// A real service would send `POST /calls/:key` itself. This one is in the same process and tells the bridge.
const reporting = setInterval(() => {
  deployments
    .reportEnded((owner, key, report) => bridge.settle(owner, key, report))
    .catch((error: unknown) => logger.warn("A deployment could not be reported; it is tried again.", { error }));
}, 250);

process.removeAllListeners("uncaughtException");
console.log(`Demo at ${server.url}`);
console.log(`Model: ${gemini.label}`);

let stopping = false;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    // A second Ctrl-C ends the process at once.
    if (stopping) process.exit(130);
    stopping = true;
    void stop();
  });
}

async function stop(): Promise<void> {
  clearInterval(reporting);
  await server.close();
  await bridge.close();
  await store.close();
  wallet.close();
  deployments.close();
  await gemini.close();
  process.exit(0);
}

/** Google's Gemini if there is a key, the one at `geminiUrl` if that is set, and the demo's script otherwise. */
async function chooseGemini({ model, liveModel, scripted, geminiUrl, apiKey = "none" }: Settings) {
  const names = `${model} and ${liveModel}`;
  if (scripted) {
    // No test looks at the requests, so only the last one is kept.
    const script = await startScriptedGemini({ rules: demoRules, delayMs: 25, maxRequests: 1 });
    const label = `scripted Gemini as ${names} (set GOOGLE_API_KEY to use Google's)`;
    return { model: geminiAt({ model, url: script.url }), label, close: () => script.close() };
  }
  const close = async () => undefined;
  if (geminiUrl)
    return { model: geminiAt({ model, url: geminiUrl, apiKey }), label: `${names} at ${geminiUrl}`, close };
  return { model: new Gemini({ model, apiKey }), label: `${names} at Google`, close };
}

function builtPage(name: string): string {
  return join(import.meta.dirname, "..", name);
}

function walletResponse(request: Request): Response {
  if (request.method !== "GET") return new Response(null, { status: 405, headers: { allow: "GET" } });
  return Response.json(wallet.read(), { headers: { "cache-control": "no-store" } });
}
