import type { BaseLlm } from "@google/adk";
import { createBridge, createModelRecord, type Logger } from "adk-stream-protocol";
import { listen, type StaticPage } from "adk-stream-protocol/server";
import { createAgent } from "./agent.ts";
import { createDebugRoutes } from "./debug-routes.ts";
import { openStorage } from "./open-storage.ts";
import { createPolicies } from "./policies.ts";
import type { Settings } from "./settings.ts";
import { walletResponse } from "./wallet-response.ts";

export interface DemoAppOptions {
  settings: Settings;
  model: BaseLlm;
  page: StaticPage;
  logger: Logger;
  /** The port to listen on; after a restart the one that was used before. */
  port: number;
  /** Cuts all connections. */
  cut: () => void;
  /** A name of this process, which stays the same when it closes this app and starts another one. */
  processName: string;
  /** Closes this app and starts another one from its database. */
  restart: () => void;
}

/** The page sends up to 10 MiB of files with a message, which are a third larger as text. */
const maxBodyBytes = 16 * 1024 * 1024;

export interface DemoApp {
  url: string;
  port: number;
  close(): Promise<void>;
}

/** Everything of the demo that a restart replaces: the files it has open, the bridge and the server. */
export async function startDemoApp(options: DemoAppOptions): Promise<DemoApp> {
  const { settings, logger, cut, restart } = options;
  const storage = await openStorage(settings);
  const { store, wallet, deployments } = storage;
  const record = createModelRecord();
  const identity = {
    ...{ process: options.processName, startedAt: Date.now() },
    ...(settings.databaseUrl !== undefined && { node: store.node }),
  };
  const agent = createAgent({
    model: options.model,
    wallet,
    deployments,
    slowMs: settings.slowMs,
  });
  const bridge = await createBridge({
    agent,
    store,
    plugins: settings.debug ? [record.plugin] : [],
    tools: createPolicies({ wallet, reportMs: settings.reportMs, seatMs: settings.seatMs }),
    live: { model: settings.liveModel },
    leaseMs: settings.leaseMs,
    ...(settings.approvalTtlMs === undefined ? {} : { approvalTtlMs: settings.approvalTtlMs }),
    logger,
  });
  const debug = settings.debug
    ? createDebugRoutes({ store, appName: agent.name, server: identity, record, cut, restart })
    : async () => undefined;
  const { model, liveModel, scripted } = settings;
  const server = await listen({
    bridge,
    port: options.port,
    host: settings.host,
    allowedOrigins: settings.allowedOrigins,
    maxBodyBytes,
    logger,
    health: () => ({ model, liveModel, scripted, debug: settings.debug, demo: true, ...identity }),
    fallback: async (request, owner) =>
      (await walletResponse(request, wallet)) ?? (await debug(request, owner)) ?? options.page.respond(request),
  });

  // A real service would send `POST /calls/:key` itself. This one is in the same process and tells the bridge.
  let isWarned = false;
  const reporting = setInterval(() => {
    deployments
      .reportEnded((owner, key, report) => bridge.settle(owner, key, report))
      .then(() => (isWarned = false))
      .catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        if (!isWarned) logger.warn("A deployment could not be reported; it is tried again.", { error: reason });
        isWarned = true;
      });
  }, 250);

  return {
    url: server.url,
    port: server.port,
    async close() {
      clearInterval(reporting);
      // The bridge first: while it drains, `/ready` says so, and clients are sent elsewhere.
      await bridge.close();
      await server.close();
      await storage.close();
    },
  };
}
