/**
 * A node of a torture run: a server on the package's public names, in a process of its own. Its tools write what they do
 * into a table of the same database, where a crash cannot undo it. SIGTERM stops it in order.
 */
import { randomUUID } from "node:crypto";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { AgentTool, FunctionTool, LlmAgent, LogLevel, LongRunningFunctionTool, setLogLevel } from "@google/adk";
import pg from "pg";
import { z } from "zod";
import { clientTool, createBridge, idempotencyKey, type Logger } from "../../src/index.ts";
import { listen } from "../../src/server/index.ts";
import { postgresStore } from "../../src/stores/postgres.ts";
import { geminiAt } from "../../src/testing/index.ts";
import { appName, clerk, effects, type Kind, type NodeSettings, resultOf } from "./settings.ts";

const settings = JSON.parse(process.argv[2] ?? "{}") as NodeSettings;
setLogLevel(LogLevel.ERROR);

const pool = new pg.Pool({ connectionString: settings.effectsUrl, max: 4, connectionTimeoutMillis: 1000 });
pool.on("error", () => undefined);

/** Runs a statement that does no harm twice until it has been carried out, also while the database is away. */
async function surely(sql: string, values: unknown[]): Promise<Record<string, unknown>[]> {
  for (;;) {
    try {
      return (await pool.query(sql, values)).rows as Record<string, unknown>[];
    } catch {
      await delay(50);
    }
  }
}

/**
 * What the tools do. Each attempt is one row. The services behind an idempotent and a queryable tool have one effect for
 * each key; the others have one for each attempt.
 */
async function carryOut(kind: Kind, key: string, name: string, ms: number): Promise<void> {
  const attempt = randomUUID();
  await delay(ms / 2);
  const id = kind === "idempotent" || kind === "queryable" ? key : attempt;
  await surely(
    `WITH tried AS (INSERT INTO torture.attempt (id, key) VALUES ($1, $3) ON CONFLICT DO NOTHING)
     INSERT INTO torture.effect (id, effect, key, name) VALUES ($2, $4, $3, $5) ON CONFLICT DO NOTHING`,
    [attempt, id, key, kind, name],
  );
  await delay(ms / 2);
}

const declared = (kind: Kind) => ({
  name: kind,
  description: `A job that is ${kind}.`,
  requireConfirmation: true,
  parameters: z.object({ name: z.string(), ms: z.number() }),
});
const tools = [
  ...effects.map(
    (effect) =>
      new FunctionTool({
        ...declared(effect),
        async execute({ name, ms }, context) {
          await carryOut(effect, context ? idempotencyKey(context) : "", name, ms);
          return { done: resultOf(name) };
        },
      }),
  ),
  new LongRunningFunctionTool({
    ...declared("reported"),
    async execute({ name, ms }, context) {
      await carryOut("reported", context ? idempotencyKey(context) : "", name, ms);
      return { begun: name };
    },
  }),
  clientTool(declared("page")),
];
const model = geminiAt({ model: "gemini-2.5-flash", url: settings.gemini });

const logger: Logger = {
  info: () => undefined,
  warn: () => undefined,
  error: (message, fields) => void process.send?.({ error: `${message} ${JSON.stringify(fields?.["error"] ?? "")}` }),
};
const store = postgresStore({ url: settings.url, timeoutMs: settings.leaseMs / 2 });
const bridge = await createBridge({
  agent: new LlmAgent({
    name: appName,
    model,
    instruction: "Help.",
    tools: [
      ...tools,
      new AgentTool({
        agent: new LlmAgent({ name: clerk, description: "Does jobs.", model, instruction: "Help.", tools }),
      }),
    ],
  }),
  store,
  appName,
  tools: {
    idempotent: { effect: "idempotent" },
    queryable: {
      effect: "queryable",
      lookup: async (key) => {
        const [found] = await surely("SELECT name FROM torture.effect WHERE key = $1", [key]);
        return found && { done: resultOf(String(found["name"])) };
      },
    },
    opaque: { effect: "opaque" },
  },
  ...{ leaseMs: settings.leaseMs, approvalTtlMs: settings.approvalTtlMs, drainMs: settings.drainMs, sweepMs: 250 },
  live: { model: "gemini-live-2.5-flash-preview", idleMs: 2000 },
  logger,
});
const server = await listen({ bridge, port: 0, logger });

process.once("SIGTERM", () => void stop());
process.on("disconnect", () => process.exit());
process.send?.({ url: server.url, id: store.node });

async function stop(): Promise<void> {
  for (const [closing, part] of Object.entries({ bridge, server, store })) {
    process.send?.({ closing });
    await part.close();
  }
  process.exit();
}
