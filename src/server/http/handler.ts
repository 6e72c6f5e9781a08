import { type Bridge, consoleLogger, StateConflict } from "../../agent/index.ts";
import {
  approvalStates,
  BridgeError,
  errorTable,
  type Identity,
  parseChatRequest,
  parseDecisionRequest,
  parseReportRequest,
  parseResolutionRequest,
} from "../../protocol/index.ts";
import { quote } from "../../protocol/quote.ts";
import { interpret } from "../interpret.ts";
import { toRefusal } from "../refusal.ts";
import { ServerBounds } from "../server-bounds.ts";
import type { ServerLimits } from "../server-limits.ts";
import { type Confirmation, dialectOf, findRunning, messagesInDialect, viewOf } from "../views/index.ts";
import { preflight, withCors } from "./cors.ts";
import { checkGuardOptions, guard, type GuardOptions } from "./guard.ts";
import { errorResponse, jsonResponse } from "./json-response.ts";
import { defaultMaxBodyBytes, LateBody, readBody } from "./read-body.ts";
import { RequestPlace } from "./request-place.ts";
import { sseResponse } from "./sse-response.ts";

export interface HandlerOptions extends GuardOptions {
  bridge: Bridge;
  /** The dialect for connections that do not choose one with `?confirmation=`. */
  confirmation?: Confirmation;
  /** Largest chat request in bytes; stock clients send their whole history. Default 4 MiB. */
  maxBodyBytes?: number;
  /** What clients may use of the server, each owner alone and all together. The defaults are far above what people do. */
  limits?: Partial<ServerLimits>;
  /** Fields that `GET /health` returns besides `ok`. */
  health?: () => Record<string, unknown>;
  /** Handles requests to other paths: a page, your own routes. */
  fallback?: (request: Request, owner: string, actor: string) => Promise<Response | undefined> | Response | undefined;
}

/** One request of a known owner. */
interface Call {
  request: Request;
  url: URL;
  owner: string;
  identity: Identity;
  /** The id in the path, if the route has one. */
  id: string;
}

const maxDecisionBytes = 64 * 1024;

/** The routes as a function from `Request` to `Response`, for any framework. */
export function createHandler(
  options: HandlerOptions,
  bounds: ServerBounds = new ServerBounds(options),
): (request: Request) => Promise<Response> {
  checkGuardOptions(options);
  const { bridge, logger = consoleLogger, maxBodyBytes = defaultMaxBodyBytes } = options;

  const routes: { path: RegExp; methods: Record<string, (call: Call) => Promise<Response>> }[] = [
    {
      path: /^\/stream$/,
      methods: {
        async POST({ request, url, owner, identity }) {
          const confirmation = dialectOf(url, options);
          const body = parseChatRequest(await readBody(request, maxBodyBytes));
          const reply = await bridge.submit(identity, body.id, interpret(body));
          return sseResponse(bridge, reply, viewOf({ bridge, owner, confirmation }), { logger });
        },
      },
    },
    {
      path: /^\/stream\/([^/]+)\/stream$/,
      methods: {
        async GET({ request, url, owner, id }) {
          const confirmation = dialectOf(url, options);
          const running = await findRunning(bridge, owner, id, confirmation);
          if (!running) return new Response(null, { status: 204 });
          const after = lastEventId(request);
          // A reader that names the last event it has seen also has the message.
          const replay = after === undefined ? running.message : undefined;
          return sseResponse(bridge, running.reading, viewOf({ bridge, owner, confirmation, replay }), {
            logger,
            after,
          });
        },
      },
    },
    {
      path: /^\/stream\/([^/]+)\/stop$/,
      methods: { POST: async ({ owner, id }) => jsonResponse({ stopped: await bridge.stop(owner, id) }) },
    },
    {
      path: /^\/stream\/([^/]+)\/messages$/,
      methods: {
        async GET({ url, owner, id }) {
          const confirmation = dialectOf(url, options);
          const messages = await bridge.messages(owner, id);
          const { approvals } = await bridge.approvals(owner, { chat: id });
          return jsonResponse({ messages: messagesInDialect(messages, confirmation, approvals) });
        },
      },
    },
    {
      path: /^\/approvals$/,
      methods: {
        async GET({ url, identity }) {
          const state = url.searchParams.get("state") ?? undefined;
          const known = approvalStates.find((name) => name === state);
          if (state !== undefined && !known)
            throw new BridgeError(
              "invalid",
              `state must be one of ${approvalStates.join(", ")}; ${JSON.stringify(state)} is not.`,
            );
          return jsonResponse(
            await bridge.approvals(identity, { chat: url.searchParams.get("chat") ?? undefined, state: known }),
          );
        },
      },
    },
    {
      path: /^\/approvals\/([^/]+)$/,
      methods: {
        async POST({ request, identity, id }) {
          const decision = parseDecisionRequest(await readBody(request, maxDecisionBytes));
          const { outcome, approval } = await bridge.decide(identity, { approvalId: id, ...decision });
          if (outcome !== "refused") return jsonResponse({ state: approval.state, approval });
          throw new StateConflict(`Approval ${id} is ${approval.state}; this answer came too late.`, approval);
        },
      },
    },
    {
      path: /^\/approvals\/([^/]+)\/resolution$/,
      methods: {
        async POST({ request, identity, id }) {
          const resolution = parseResolutionRequest(await readBody(request, maxDecisionBytes));
          const approval = await bridge.resolve(identity, { approvalId: id, ...resolution });
          return jsonResponse({ state: approval.state, approval });
        },
      },
    },
    {
      path: /^\/calls\/([^/]+)$/,
      methods: {
        async POST({ request, owner, id }) {
          const report = parseReportRequest(await readBody(request, maxBodyBytes));
          const approval = await bridge.settle(owner, id, report);
          return jsonResponse({ state: approval.state, approval });
        },
      },
    },
    { path: /^\/health$/, methods: { GET: async () => jsonResponse({ ok: true, ...options.health?.() }) } },
  ];

  const { allowedOrigins = [] } = options;
  return async (request) =>
    preflight(request, allowedOrigins) ?? withCors(request, await respond(request), allowedOrigins);

  async function respond(request: Request): Promise<Response> {
    let place: RequestPlace | undefined;
    try {
      place = new RequestPlace(request, bounds);
      const identity = await guard(request, options);
      const { owner, actor } = identity;
      place.assign(owner);
      const url = new URL(request.url);
      for (const { path, methods } of routes) {
        const match = path.exec(url.pathname);
        if (!match) continue;
        const route = Object.hasOwn(methods, request.method) ? methods[request.method] : undefined;
        const call = { request, url, owner, identity, id: decodeId(match[1]) };
        const reads = request.method === "GET" && url.pathname !== "/health";
        if (route) return place.until(await (reads ? bounds.reads.run(owner, () => route(call)) : route(call)));
        const allow = Object.keys(methods).join(", ");
        const message = `${url.pathname} takes ${allow}, not ${request.method}.`;
        return errorResponse({ code: "method_not_allowed", message }, { allow });
      }
      const response = await options.fallback?.(request, owner, actor);
      return response ?? errorResponse({ code: "not_found", message: `There is nothing at ${url.pathname}.` });
    } catch (error) {
      // Otherwise the rest of the body stays in the connection.
      if (!request.bodyUsed) void request.body?.cancel(error).catch(() => undefined);
      if (error instanceof StateConflict) return conflictResponse(error);
      const refusal = toRefusal(error, logger, "A request failed.", { method: request.method });
      return errorResponse(refusal, {}, error instanceof LateBody ? error.status : undefined);
    } finally {
      place?.leave();
    }
  }
}

/** Another change came first. The response says how the approval stands. */
function conflictResponse({ code, message, approval }: StateConflict): Response {
  return jsonResponse({ code, message, state: approval.state, approval }, errorTable.conflict.status);
}

function decodeId(id: string | undefined): string {
  try {
    return decodeURIComponent(id ?? "");
  } catch {
    throw new BridgeError("malformed", `The id ${quote(id)} in the path is not valid percent-encoding.`);
  }
}

function lastEventId(request: Request): number | undefined {
  const id = request.headers.get("last-event-id");
  return id !== null && /^\d{1,15}$/.test(id) ? Number(id) : undefined;
}
