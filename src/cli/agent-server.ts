import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { Bridge, type BridgeOptions, createModelRecord, type Logger, memoryServices } from "../agent/index.ts";
import { createInspectorRoutes, listen, type ListenOptions, loadStaticPage } from "../server/index.ts";
import type { Store } from "../stores/index.ts";
import type { AccessToken } from "./access-token.ts";
import type { LoadedAgent } from "./agent-source.ts";
import type { AskLevel } from "./read-arguments.ts";
import type { EnvironmentSettings } from "./read-settings.ts";

export interface AgentServerOptions {
  /** The agent to begin with, which has been loaded. */
  first: LoadedAgent;
  /** Loads the agent of the file again. */
  load: () => Promise<LoadedAgent>;
  /** The file as the person wrote it. */
  shown: string;
  appName: string;
  store: Store;
  port: number;
  host: string;
  ask: AskLevel;
  settings: EnvironmentSettings;
  isScripted: boolean;
  /** Whether the page may read the log, the model's side and the state of its chats. */
  debug: boolean;
  pageFolder: string;
  /** Whether other machines can reach the host. */
  isOpenToOthers: boolean;
  token: AccessToken | undefined;
  logger: Logger;
}

/** A server with one agent, which can be loaded again while it runs. */
export interface AgentServer {
  url: string;
  /**
   * Loads the agent again. Replies that run end with the old agent; then the new one takes its place and keeps the chats. If
   * it cannot be loaded, the old one stays. Resolves with the sentence that says what is wrong, if something is.
   */
  reload(onWait: () => void): Promise<string | undefined>;
  close(): Promise<void>;
}

const idleMs = 25;
/** The page sends up to 10 MiB of files with a message, which are a third larger as text. */
const maxBodyBytes = 16 * 1024 * 1024;

export async function startAgentServer(options: AgentServerOptions): Promise<AgentServer> {
  const { store, appName, settings, isScripted, debug, logger, token } = options;
  const page = loadStaticPage({ "/": options.pageFolder });
  const record = createModelRecord();
  const services = memoryServices();
  const inspect = createInspectorRoutes({ store, appName, record });
  const identity = { process: randomBytes(4).toString("hex"), startedAt: Date.now() };
  let running = options.first;
  let loadedAt = Date.now();
  let problem: string | undefined;

  function bridgeOptions({ agent, plugins, outline }: LoadedAgent): BridgeOptions {
    const speaksLive = outline.model !== undefined && /live/i.test(outline.model);
    return {
      ...{ agent, store, appName, logger, ...services },
      plugins: [record.plugin, ...plugins],
      ...(options.ask !== "declared" && { toolsets: { confirm: true } }),
      ...(options.ask === "all" && { unlisted: "confirm" as const }),
      ...(!speaksLive && { live: { model: settings.liveModel } }),
      ...(settings.approvalTtlMs !== undefined && { approvalTtlMs: settings.approvalTtlMs }),
      ...(settings.leaseMs !== undefined && { leaseMs: settings.leaseMs }),
    };
  }

  function listenOptions(bridge: Bridge, { authenticate }: LoadedAgent): ListenOptions {
    const check = authenticate ?? token?.authenticate;
    return {
      ...{ bridge, logger, maxBodyBytes, port: options.port, host: options.host },
      allowedOrigins: settings.allowedOrigins,
      ...(check && { authenticate: check }),
      health: () => ({
        ...{ model: running.outline.model ?? "the agent's model", liveModel: settings.liveModel },
        ...{ scripted: isScripted, debug, ...identity },
      }),
      fallback: async (request, owner) =>
        token?.respond(request) ??
        (debug ? (describeAgent(request) ?? (await inspect(request, owner))) : undefined) ??
        page.respond(request),
    };
  }

  /** What the page shows of the agent itself: `GET /debug/agent`. */
  function describeAgent(request: Request): Response | undefined {
    if (new URL(request.url).pathname !== "/debug/agent" || request.method !== "GET") return undefined;
    const { outline } = running;
    const tools = toolsOf(outline).slice(0, 50);
    const body = {
      name: outline.name,
      file: options.shown,
      tools,
      loadedAt,
      ...(problem !== undefined && { problem }),
    };
    return Response.json(body, { headers: { "cache-control": "no-store" } });
  }

  let bridge = new Bridge(bridgeOptions(running));
  await bridge.start();
  const server = await listen(listenOptions(bridge, running)).catch(async (error: unknown) => {
    await bridge.close();
    throw error;
  });

  /** Replaces the bridge. The store is for one bridge at a time, so the old one is closed before the next one starts. */
  async function replace(next: LoadedAgent, candidate: Bridge): Promise<void> {
    let failure: unknown;
    await server.replace(async () => {
      await untilIdle();
      await bridge.close();
      try {
        await candidate.start();
        [bridge, running] = [candidate, next];
      } catch (error) {
        failure = error;
        await candidate.close();
        bridge = new Bridge(bridgeOptions(running));
        await bridge.start();
      }
      return listenOptions(bridge, running);
    });
    if (failure !== undefined) throw failure;
  }

  function requireAuthentication({ authenticate }: LoadedAgent): void {
    if (!options.isOpenToOthers || authenticate || token) return;
    throw new Error(
      `${options.shown} no longer exports authenticate, and other machines can reach this server. Start it again to go on without.`,
    );
  }

  async function untilIdle(): Promise<void> {
    while (!bridge.isIdle) await delay(idleMs);
  }

  return {
    url: server.url,
    async reload(onWait) {
      try {
        const next = await options.load();
        requireAuthentication(next);
        // The constructor refuses agents that cannot be gated, before the old one has to stop.
        const candidate = new Bridge(bridgeOptions(next));
        if (!bridge.isIdle) onWait();
        await untilIdle();
        await replace(next, candidate);
        loadedAt = Date.now();
        problem = undefined;
      } catch (error) {
        problem = error instanceof Error ? error.message : String(error);
      }
      return problem;
    },
    async close() {
      // The bridge first: while it drains, `/ready` says so, and clients are sent elsewhere.
      await bridge.close();
      await server.close();
    },
  };
}

function toolsOf({ tools, agents }: LoadedAgent["outline"]): string[] {
  return [...new Set([...tools, ...agents.flatMap(toolsOf)])];
}
