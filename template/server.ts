import { mkdirSync } from "node:fs";
import { createBridge } from "adk-stream-protocol";
import { listen, loadStaticPage } from "adk-stream-protocol/server";
import { sqliteStore } from "adk-stream-protocol/stores/sqlite";
import { createAgent, rootAgent } from "./agent.ts";
import { startScriptedModel } from "./scripted-model.ts";

const isDevelopment = process.argv.includes("--dev");
const port = Number(process.env["PORT"] ?? 3001);

const scripted = process.env["GOOGLE_API_KEY"] ? undefined : await startScriptedModel();
const agent = scripted ? createAgent(scripted.model) : rootAgent;

mkdirSync(".data", { recursive: true });
const store = sqliteStore({ path: ".data/chats.db" });
const bridge = await createBridge({
  agent,
  store,
  // What the card says. Arguments without an entry are shown as they are.
  tools: { pay: { title: "Pay a person", fields: { amount: { format: "money", currency: "USD" } } } },
});
// To serve other machines than this one, add `host` and `authenticate`.
const server = await listen({
  bridge,
  port,
  ...(!isDevelopment && { fallback: loadStaticPage({ "/": "dist" }).respond }),
});
console.log(scripted ? "Model: scripted (set GOOGLE_API_KEY to use Gemini)" : "Model: Gemini");

if (isDevelopment) {
  const { createServer } = await import("vite");
  const proxy = { target: server.url, changeOrigin: false };
  const vite = await createServer({
    configLoader: "native", // the default one writes a file, and `node --watch` restarts the server because of it
    server: { proxy: { "^/(stream|approvals|chats|files|calls)(/|\\?|$)": proxy } },
  });
  await vite.listen();
  vite.printUrls();
} else {
  console.log(`Open ${server.url}`);
}

for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, async () => {
    await bridge.close();
    await server.close();
    await store.close();
    process.exit(0);
  });
