import { createInspectorRoutes, type InspectorOptions } from "adk-stream-protocol/server";

export interface DebugOptions extends Omit<InspectorOptions, "node"> {
  /** Which server this is. */
  server: ServerIdentity;
  /** Cuts all connections. Called when the reply has been sent. */
  cut: () => void;
  /** Closes everything and starts again from the database. Called when the reply has been sent. */
  restart: () => void;
}

/** Which server gave a reply. Several nodes may serve one page. */
export interface ServerIdentity {
  /** The name of the process. It stays the same when the demo restarts itself. */
  process: string;
  startedAt: number;
  /** The name of the node in the leases of chats. Missing if there is only one. */
  node?: string;
}

/** Answers a request of an authenticated owner. Undefined if it is for another path. */
export type DebugRoutes = (request: Request, owner: string) => Promise<Response | undefined>;

/**
 * The routes of the inspector, and what the “Break it” menu of the page needs. They exist only if the demo's settings
 * allow them: they show the raw log of a chat and let a visitor disturb the server.
 *
 *     POST /debug/cut                    cuts all connections
 *     POST /debug/restart                restarts the server
 */
export function createDebugRoutes(options: DebugOptions): DebugRoutes {
  const { server, ...inspected } = options;
  const inspect = createInspectorRoutes({ ...inspected, ...(server.node !== undefined && { node: server.node }) });
  return async (request, owner) => {
    const { pathname } = new URL(request.url);
    const act = { "/debug/cut": options.cut, "/debug/restart": options.restart }[pathname];
    if (!act) return inspect(request, owner);
    if (request.method !== "POST") return new Response(null, { status: 405, headers: { allow: "POST" } });
    // Pages of allowed origins may chat. They may not disturb the server.
    if (!isOwnPage(request)) return refuse(403, "forbidden", "Only the page of this server may do this.");
    act();
    // Of several nodes only this one does it.
    return Response.json({ accepted: true, ...server }, { status: 202, headers: noStore });
  };
}

const noStore = { "cache-control": "no-store" };

function refuse(status: number, code: string, message: string): Response {
  return Response.json({ code, message }, { status, headers: noStore });
}

function isOwnPage(request: Request): boolean {
  const origin = request.headers.get("origin");
  return origin !== null && origin === `http://${request.headers.get("host") ?? ""}`;
}
