import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createBridge } from "adk-stream-protocol";
import { demoRules, geminiAt, startScriptedGemini } from "adk-stream-protocol/gemini";
import { listen } from "adk-stream-protocol/server";
import { sqliteStore } from "adk-stream-protocol/stores/sqlite";
import { createAgent } from "./agent.ts";
import { readSettings, type Settings } from "./settings.ts";
import { loadStaticPage } from "./static-page.ts";
import { openWallet } from "./wallet.ts";

const settings = readSettings(process.env);
mkdirSync(settings.dataDir, { recursive: true });

const gemini = await chooseGemini(settings);
const wallet = openWallet(join(settings.dataDir, "wallet.db"));
const page = loadStaticPage({ "/": builtPage("page-v7"), "/v6/": builtPage("page-v6") });
const bridge = await createBridge({
  agent: createAgent({ model: gemini.model, wallet }),
  store: sqliteStore(join(settings.dataDir, "bridge.db")),
  // The wallet takes the key of the call, so a payment interrupted by a crash may be tried again.
  tools: { process_payment: { effect: "idempotent" }, get_weather: { effect: "readonly" } },
  ...(settings.approvalTtlMs === undefined ? {} : { approvalTtlMs: settings.approvalTtlMs }),
});
const server = await listen({
  bridge,
  port: settings.port,
  host: settings.host,
  health: () => ({ model: settings.model, scripted: settings.scripted }),
  fallback: (request) => {
    if (new URL(request.url).pathname === "/wallet") return walletResponse(request);
    return page.respond(request);
  },
});

console.log(`Demo at ${server.url}`);
console.log(`Model: ${gemini.label}`);

let stopping = false;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    // The second Ctrl-C does not wait for anything.
    if (stopping) process.exit(130);
    stopping = true;
    void stop();
  });
}

async function stop(): Promise<void> {
  await server.close();
  await bridge.close();
  wallet.close();
  await gemini.close();
  process.exit(0);
}

async function chooseGemini({ model, scripted, geminiUrl, apiKey }: Settings) {
  if (scripted) {
    const server = await startScriptedGemini({ rules: demoRules });
    return {
      model: geminiAt({ model, url: server.url, apiKey: "none" }),
      label: `scripted Gemini as ${model} (set GOOGLE_API_KEY to talk to Google's)`,
      close: () => server.close(),
    };
  }
  return {
    model: geminiAt({ model, apiKey: apiKey ?? "none", ...(geminiUrl ? { url: geminiUrl } : {}) }),
    label: `${model} at ${geminiUrl ?? "Google"}`,
    close: async () => undefined,
  };
}

function builtPage(name: string): string {
  return join(import.meta.dirname, "..", name);
}

function walletResponse(request: Request): Response {
  if (request.method !== "GET") return new Response(null, { status: 405, headers: { allow: "GET" } });
  return Response.json(wallet.read(), { headers: { "cache-control": "no-store" } });
}
