import type { Bridge, Logger } from "../agent/index.ts";
import { consoleLogger } from "../agent/index.ts";
import {
  approvalStates,
  BridgeError,
  type ErrorCode,
  errorTable,
  parseChatRequest,
  parseDecisionRequest,
} from "../protocol/index.ts";
import { preflight, withCors } from "./cors.ts";
import { type Confirmation, dialectOf, messagesInDialect, translator } from "./dialect.ts";
import { guard, type GuardOptions } from "./guard.ts";
import { interpret } from "./interpret.ts";
import { readBody } from "./read-body.ts";
import { findRunning, replaying } from "./replay.ts";
import { sseResponse } from "./sse-response.ts";

export interface HandlerOptions extends GuardOptions {
  bridge: Bridge;
  /** The dialect for connections that do not choose one with `?confirmation=`. */
  confirmation?: Confirmation;
  /** Largest chat request in bytes; stock clients send their whole history. Default 4 MiB. */
  maxBodyBytes?: number;
  /** What `GET /health` says besides `ok`. */
  health?: () => Record<string, unknown>;
  /** Gets the requests that are for none of our paths: a page, your own routes. */
  fallback?: (request: Request, owner: string) => Promise<Response | undefined> | Response | undefined;
  logger?: Logger;
}

/** One request of a known owner. */
interface Call {
  request: Request;
  url: URL;
  owner: string;
  /** The id in the path, if the route has one. */
  id: string;
}

const maxDecisionBytes = 64 * 1024;
export const defaultMaxBodyBytes = 4 * 1024 * 1024;

/** All that a stranger is told of a failure of ours. */
export const internalSentence = "Something went wrong on the server. The details are in its log.";

/** HTTP in, chunks out: a `Request → Response` function for any framework. Knows no ADK and no sockets. */
export function createHandler(options: HandlerOptions): (request: Request) => Promise<Response> {
  const { bridge, logger = consoleLogger, maxBodyBytes = defaultMaxBodyBytes } = options;

  const routes: { path: RegExp; methods: Record<string, (call: Call) => Promise<Response>> }[] = [
    {
      path: /^\/stream$/,
      methods: {
        async POST({ request, url, owner }) {
          const dialect = dialectOf(url, options);
          const body = parseChatRequest(await readBody(request, maxBodyBytes));
          const reply = await bridge.submit(
            owner,
            body.id,
            interpret(body, () => crypto.randomUUID()),
          );
          return sseResponse(
            bridge,
            reply,
            translator(dialect, (id) => bridge.approval(owner, id)),
            { logger },
          );
        },
      },
    },
    {
      path: /^\/stream\/([^/]+)\/stream$/,
      methods: {
        async GET({ request, url, owner, id }) {
          const dialect = dialectOf(url, options);
          const running = await findRunning(bridge, owner, id, dialect);
          if (!running) return new Response(null, { status: 204 });
          const translate = translator(dialect, (approval) => bridge.approval(owner, approval));
          const after = lastEventId(request);
          // A reader that says what it has seen has the message too.
          const whole = after === undefined ? replaying(translate, running.message) : translate;
          return sseResponse(bridge, running.reading, whole, { logger, after });
        },
      },
    },
    {
      path: /^\/stream\/([^/]+)\/stop$/,
      methods: { POST: async ({ owner, id }) => json({ stopped: await bridge.stop(owner, id) }) },
    },
    {
      path: /^\/stream\/([^/]+)\/messages$/,
      methods: {
        async GET({ url, owner, id }) {
          const dialect = dialectOf(url, options);
          const messages = await bridge.messages(owner, id);
          const { approvals } = await bridge.approvals(owner, { chat: id });
          return json({ messages: messagesInDialect(messages, dialect, approvals) });
        },
      },
    },
    {
      path: /^\/approvals$/,
      methods: {
        async GET({ url, owner }) {
          const state = url.searchParams.get("state") ?? undefined;
          const known = approvalStates.find((name) => name === state);
          if (state !== undefined && !known)
            throw new BridgeError(
              "invalid",
              `state must be one of ${approvalStates.join(", ")}; ${JSON.stringify(state)} is not.`,
            );
          return json(await bridge.approvals(owner, { chat: url.searchParams.get("chat") ?? undefined, state: known }));
        },
      },
    },
    {
      path: /^\/approvals\/([^/]+)$/,
      methods: {
        async POST({ request, owner, id }) {
          const decision = parseDecisionRequest(await readBody(request, maxDecisionBytes));
          const { outcome, approval } = await bridge.decide(owner, { approvalId: id, ...decision });
          if (outcome !== "refused") return json({ state: approval.state, approval });
          const message = `Approval ${id} is ${approval.state}; this answer came too late.`;
          return json({ code: "conflict", message, state: approval.state, approval }, errorTable.conflict.status);
        },
      },
    },
    { path: /^\/health$/, methods: { GET: async () => json({ ok: true, ...options.health?.() }) } },
  ];

  const { allowedOrigins = [] } = options;
  return async (request) =>
    preflight(request, allowedOrigins) ?? withCors(request, await answer(request), allowedOrigins);

  async function answer(request: Request): Promise<Response> {
    try {
      const owner = await guard(request, options);
      const url = new URL(request.url);
      for (const { path, methods } of routes) {
        const match = path.exec(url.pathname);
        if (!match) continue;
        const route = Object.hasOwn(methods, request.method) ? methods[request.method] : undefined;
        if (route) return await route({ request, url, owner, id: decodeId(match[1]) });
        const allow = Object.keys(methods).join(", ");
        return errorResponse("method_not_allowed", `${url.pathname} takes ${allow}, not ${request.method}.`, { allow });
      }
      const response = await options.fallback?.(request, owner);
      return response ?? errorResponse("not_found", `There is nothing at ${url.pathname}.`);
    } catch (error) {
      if (error instanceof BridgeError) return errorResponse(error.code, error.message);
      logger.error("A request failed.", {
        method: request.method,
        error: error instanceof Error ? error.stack : String(error),
      });
      return errorResponse("internal", internalSentence);
    }
  }
}

function decodeId(id: string | undefined): string {
  try {
    return decodeURIComponent(id ?? "");
  } catch {
    throw new BridgeError("malformed", "The id in the path is not valid percent-encoding.");
  }
}

function lastEventId(request: Request): number | undefined {
  const id = request.headers.get("last-event-id");
  return id !== null && /^\d{1,15}$/.test(id) ? Number(id) : undefined;
}

const jsonHeaders = {
  "content-type": "application/json; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

function json(value: unknown, status = 200): Response {
  return new Response(JSON.stringify(value), { status, headers: jsonHeaders });
}

export function errorResponse(code: ErrorCode, message: string, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify({ code, message }), {
    status: errorTable[code].status,
    headers: { ...jsonHeaders, ...headers },
  });
}
