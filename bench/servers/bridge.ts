/** Our server, started with `listen`. The limits per owner are raised, because all clients of the bench are one owner. */
import { BaseLlm, FunctionTool, LlmAgent, LogLevel, setLogLevel } from "@google/adk";
import { createBridge } from "adk-stream-protocol";
import { listen } from "adk-stream-protocol/server";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { postgresStore } from "adk-stream-protocol/stores/postgres";
import { sqliteStore } from "adk-stream-protocol/stores/sqlite";
import { geminiAt } from "adk-stream-protocol/testing";
import { z } from "zod";
import { options, serve } from "./serve.ts";
import { wordsModel } from "./words-model.ts";

const { gemini, database, postgres } = options as {
  /** The address of the model; undefined for one in this process. */
  gemini?: string;
  /** The file of the store, or the address of its PostgreSQL; without both it is in memory. */
  database?: string;
  postgres?: string;
};

setLogLevel(LogLevel.ERROR);
const pay = new FunctionTool({
  name: "pay",
  description: "Pays.",
  parameters: z.object({ amount: z.number() }),
  requireConfirmation: true,
  execute: () => ({ paid: true }),
});
const model = gemini ? geminiAt({ model: "gemini-2.5-flash", url: gemini }) : wordsModel(BaseLlm);
const bridge = await createBridge({
  agent: new LlmAgent({ name: "bench", model, tools: [pay] }),
  store: postgres ? postgresStore({ url: postgres }) : database ? sqliteStore({ path: database }) : memoryStore(),
});
const { url } = await listen({
  bridge,
  port: 0,
  limits: { socketsPerOwner: 20_000, sockets: 20_000, frames: { size: 10_000, perSecond: 10_000 } },
});
serve(url);
