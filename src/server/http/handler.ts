import { type Bridge, consoleLogger, StateConflict } from "../../agent/index.ts";
import { BridgeError, errorTable } from "../../protocol/index.ts";
import { quote } from "../../protocol/quote.ts";
import { checkBasePath, routePaths } from "../mount-path.ts";
import { toRefusal } from "../refusal.ts";
import { ServerBounds } from "../server-bounds.ts";
import type { ServerLimits } from "../server-limits.ts";
import type { Confirmation } from "../views/index.ts";
import { approvalRoutes } from "./approval-routes.ts";
import { chatRoutes } from "./chat-routes.ts";
import { preflight, withCors } from "./cors.ts";
import { fileRoutes } from "./file-routes.ts";
import { checkGuardOptions, guard, type GuardOptions } from "./guard.ts";
import { errorResponse, jsonResponse } from "./json-response.ts";
import { answerProbe, isProbePath } from "./probes.ts";
import { defaultMaxBodyBytes, LateBody } from "./read-body.ts";
import { RequestPlace } from "./request-place.ts";
import type { Call, Route } from "./route.ts";
import { streamRoutes } from "./stream-routes.ts";

/** How `createHandler` serves a bridge over HTTP. Only `bridge` is required. */
export interface HandlerOptions extends GuardOptions {
  /** What `createBridge` has returned. */
  bridge: Bridge;
  /**
   * The path below which the routes and the WebSocket are, for example `/agent`. Default: any path, so that a framework
   * can mount the handler anywhere. Give it if a proxy allows or refuses requests by their path, or if one server has
   * several agents. `listen`, and a handler with a `fallback`, have the default `/`.
   */
  basePath?: string;
  /** The dialect for connections that do not choose one with `?confirmation=`. Default `approval`. */
  confirmation?: Confirmation;
  /** How many bytes of a chat request may be new, beside the history that stock clients send. Default 4 MiB. */
  maxBodyBytes?: number;
  /** What clients may use of the server, each owner alone and all together. Default: the limits named there, far above what people do. */
  limits?: Partial<ServerLimits>;
  /** Fields that `GET /health` returns besides `ok`. Anyone can read them. Default: none. */
  health?: () => Record<string, unknown>;
  /** Handles requests to other paths: a page, your own routes. Default: they get 404. */
  fallback?: (request: Request, owner: string, actor: string) => Promise<Response | undefined> | Response | undefined;
}

/** The routes as a function from `Request` to `Response`, for any framework. */
export function createHandler(
  options: HandlerOptions,
  bounds: ServerBounds = new ServerBounds(options),
): (request: Request) => Promise<Response> {
  checkGuardOptions(options);
  checkBasePath(options.basePath);
  const { logger = consoleLogger, maxBodyBytes = defaultMaxBodyBytes, fallback } = options;
  // Other paths belong to the fallback, also those that end like a route.
  const { basePath = fallback && "/" } = options;

  const context = { ...options, logger, maxBodyBytes };
  const routes: Route[] = [
    ...streamRoutes(context),
    ...approvalRoutes(context),
    ...fileRoutes(context),
    ...chatRoutes(context),
  ];

  const { allowedOrigins = [] } = options;
  return async (request) => {
    const early = preflight(request, allowedOrigins);
    if (early) return early;
    const paths = routePaths(request, basePath);
    const response = await (answerProbe(request, paths, context) ?? respond(request, paths));
    return withCors(request, response, allowedOrigins);
  };

  async function respond(request: Request, paths: readonly string[]): Promise<Response> {
    let place: RequestPlace | undefined;
    try {
      place = new RequestPlace(request, bounds);
      const identity = await guard(request, options);
      const { owner, actor } = identity;
      place.assign(owner);
      const url = new URL(request.url);
      const found = findRoute(request.method, paths);
      if (found?.allow !== undefined) return refuseMethod(request, url, found.allow);
      if (found) {
        const call = { request, url, owner, identity, id: decodeId(found.id) };
        const reads = request.method === "GET";
        const handle = () => found.route(call);
        return place.until(await (reads ? bounds.reads.run(owner, handle) : handle()));
      }
      const response = await fallback?.(request, owner, actor);
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

  /** The first route that has one of the paths and the method, or the methods of a route that has one of the paths. */
  function findRoute(method: string, paths: readonly string[]): FoundRoute | undefined {
    let allow: string | undefined;
    for (const candidate of paths)
      for (const { path, methods } of routes) {
        const match = path.exec(candidate);
        if (!match) continue;
        const route = Object.hasOwn(methods, method) ? methods[method] : undefined;
        if (route) return { route, id: match[1] };
        allow ??= Object.keys(methods).join(", ");
        break;
      }
    if (paths.some(isProbePath)) allow ??= "GET";
    return allow === undefined ? undefined : { allow };
  }
}

type FoundRoute =
  | { route: (call: Call) => Promise<Response>; id: string | undefined; allow?: undefined }
  | { allow: string };

function refuseMethod({ method }: Request, { pathname }: URL, allow: string): Response {
  const message = `${pathname} takes ${allow}, not ${method}.`;
  return errorResponse({ code: "method_not_allowed", message }, { allow });
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
