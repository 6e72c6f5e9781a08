import type { Bridge, Logger } from "../../agent/index.ts";
import { toRefusal } from "../refusal.ts";
import { checkHost, type GuardOptions } from "./guard.ts";
import { errorResponse, jsonResponse } from "./json-response.ts";

export interface ProbeOptions extends GuardOptions {
  bridge: Bridge;
  logger: Logger;
  health?: (() => Record<string, unknown>) | undefined;
}

/**
 * `GET /health` (the process lives) and `GET /ready` (it should get requests), for load balancers and supervisors. They
 * have no user, and a server that is full must not be taken for a dead one, so these are answered before `authenticate`
 * and are not counted. Returns undefined for every other request.
 */
export function answerProbe(
  request: Request,
  paths: readonly string[],
  options: ProbeOptions,
): Promise<Response> | undefined {
  if (request.method !== "GET" && request.method !== "HEAD") return undefined;
  const path = paths.find(isProbePath);
  return path && respond(request, path, options);
}

export function isProbePath(path: string): path is ProbePath {
  return path === "/health" || path === "/ready";
}

type ProbePath = "/health" | "/ready";

async function respond(request: Request, path: ProbePath, options: ProbeOptions): Promise<Response> {
  const response = await probe(request, path, options);
  // As RFC 9110 has it: the same headers, and no content.
  return request.method === "HEAD" ? new Response(null, response) : response;
}

async function probe(request: Request, path: ProbePath, options: ProbeOptions): Promise<Response> {
  try {
    checkHost(request, options);
    if (path === "/health") return jsonResponse({ ok: true, ...options.health?.() });
    await options.bridge.ready();
    return jsonResponse({ ok: true });
  } catch (error) {
    return errorResponse(toRefusal(error, options.logger, "A probe failed.", { path }));
  }
}
