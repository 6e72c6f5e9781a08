/** One node of ours on a PostgreSQL that it may share with others. The limits per owner are raised: all clients are one. */
import { FunctionTool, LlmAgent, LogLevel, setLogLevel } from "@google/adk";
import { createBridge, silentLogger } from "adk-stream-protocol";
import { listen } from "adk-stream-protocol/server";
import { postgresStore } from "adk-stream-protocol/stores/postgres";
import { geminiAt } from "adk-stream-protocol/testing";
import { z } from "zod";
import { options, serve } from "./serve.ts";

const { gemini, database } = options as { gemini: string; /** Its address. */ database: string };

setLogLevel(LogLevel.ERROR);
const pay = new FunctionTool({
  name: "pay",
  description: "Pays.",
  parameters: z.object({ amount: z.number() }),
  requireConfirmation: true,
  execute: () => ({ paid: true }),
});
const bridge = await createBridge({
  agent: new LlmAgent({ name: "bench", model: geminiAt({ model: "gemini-2.5-flash", url: gemini }), tools: [pay] }),
  store: postgresStore({ url: database }),
  logger: silentLogger,
  limits: { turnsPerOwner: 2000 },
});
const { url } = await listen({
  bridge,
  port: 0,
  logger: silentLogger,
  limits: { socketsPerOwner: 10_000, frames: { size: 10_000, perSecond: 10_000 } },
});
serve(url);
