import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { Gemini, LogLevel, setLogLevel } from "@google/adk";
import { createConsoleLogger } from "adk-stream-protocol";
import { geminiAt, startScriptedGemini } from "adk-stream-protocol/testing";
import { demoRules } from "../script/demo-rules.ts";
import { trackConnections } from "./connections.ts";
import { type DemoApp, startDemoApp } from "./demo-app.ts";
import { readSettings, type Settings } from "./settings.ts";
import { loadDemoPages } from "./demo-pages.ts";

// A failed start prints one sentence and no stack: the port is taken, or another process uses the data directory.
process.on("uncaughtException", (error) => {
  console.error(error.message);
  process.exit(1);
});

const settings = readSettings(process.env);
// ADK logs every request, which would hide the address of the demo.
setLogLevel(LogLevel.ERROR);
const logger = createConsoleLogger({ level: settings.logLevel });

/** Until then the reply to the request that asks for it has been sent. */
const beforeBreakingMs = 100;

const gemini = await chooseGemini(settings);
const page = loadDemoPages({ v7: builtPage("page-v7"), v6: builtPage("page-v6") });
const connections = trackConnections();
const processName = randomBytes(4).toString("hex");
let app: DemoApp = await start(settings.port);
let restarting: Promise<void> | undefined;

process.removeAllListeners("uncaughtException");
console.log(`Demo at ${app.url}`);
console.log(`Model: ${gemini.label}`);
if (settings.databaseUrl !== undefined) console.log("A node of the cluster on the database of DATABASE_URL");

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
  await restarting;
  await app.close();
  connections.close();
  await gemini.close();
  process.exit(0);
}

function start(port: number): Promise<DemoApp> {
  return startDemoApp({
    settings,
    model: gemini.model,
    page,
    logger,
    port,
    processName,
    cut: () => void setTimeout(() => connections.cut(app.port), beforeBreakingMs),
    restart: () => {
      if (!stopping) restarting ??= restart().finally(() => (restarting = undefined));
    },
  });
}

/** Closes everything and opens it again from its database, as a new version would. Ends the process if that fails. */
async function restart(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, beforeBreakingMs));
  try {
    await app.close();
    app = await start(app.port);
  } catch (error) {
    console.error("The demo could not be restarted.", error);
    process.exit(1);
  }
}

/** Google's Gemini if there is a key, the one at `geminiUrl` if that is set, and the demo's script otherwise. */
async function chooseGemini({ model, liveModel, scripted, wordMs, geminiUrl, apiKey = "none" }: Settings) {
  const names = `${model} and ${liveModel}`;
  if (scripted) {
    // No test looks at the requests, so only the last one is kept.
    const script = await startScriptedGemini({ rules: demoRules, delayMs: wordMs, maxRequests: 1 });
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
