/** Our server with several owners, each named by the header `x-owner`, and with the limits that it has by default. */
import { FunctionTool, LlmAgent, LogLevel, setLogLevel } from "@google/adk";
import { clientTool, createBridge, silentLogger } from "adk-stream-protocol";
import { listen } from "adk-stream-protocol/server";
import { sqliteStore } from "adk-stream-protocol/stores/sqlite";
import { geminiAt } from "adk-stream-protocol/testing";
import { z } from "zod";
import { options, serve } from "./serve.ts";

const { gemini, database } = options as { gemini: string; database: string };

setLogLevel(LogLevel.ERROR);
const where = clientTool({ name: "where", description: "Place.", parameters: z.object({ index: z.number() }) });
const dump = new FunctionTool({
  name: "dump",
  description: "Returns much.",
  parameters: z.object({}),
  execute: () => ({ rows: Array.from({ length: 40_000 }, (_, row) => ({ row, text: "x".repeat(80) })) }),
});
const bridge = await createBridge({
  agent: new LlmAgent({
    name: "bench",
    model: geminiAt({ model: "gemini-2.5-flash", url: gemini }),
    tools: [where, dump],
  }),
  store: sqliteStore({ path: database }),
  logger: silentLogger,
});
const authenticate = (request: Request) => request.headers.get("x-owner") ?? undefined;
const { url } = await listen({ bridge, port: 0, authenticate, logger: silentLogger });
serve(url);
