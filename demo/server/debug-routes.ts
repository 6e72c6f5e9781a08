import type { Store } from "adk-stream-protocol/stores";
import { logLines } from "./log-lines.ts";
import type { ModelRecord } from "./model-record.ts";

export interface DebugOptions {
  store: Pick<Store, "findChat" | "read" | "lastSequence" | "events">;
  /** Whose chats these are, see `createBridge`. */
  appName: string;
  /** The name of this process, see `demo-app.ts`. */
  processName: string;
  record: Pick<ModelRecord, "of">;
  now?: () => number;
  /** Cuts all connections. Called when the reply has been sent. */
  cut: () => void;
  /** Closes everything and starts again from the database. Called when the reply has been sent. */
  restart: () => void;
}

/** Answers a request of an authenticated owner. Undefined if it is for another path. */
export type DebugRoutes = (request: Request, owner: string) => Promise<Response | undefined>;

/** How many of the model's events are sent, the newest. */
const maxEvents = 200;

/**
 * What the stream inspector and the “Break it” menu of the page need. These routes exist only in the demo, and only if
 * its settings allow them: they show the raw log of a chat and let a visitor disturb the server.
 *
 *     GET  /debug/chats/:id/log?last=N   the chat's log as JSON lines
 *     GET  /debug/chats/:id/model        what the model was asked and what it said
 *     POST /debug/cut                    cuts all connections
 *     POST /debug/restart                restarts the server
 */
export function createDebugRoutes(options: DebugOptions): DebugRoutes {
  const { store, appName, processName, record, now = Date.now } = options;

  async function readChat(request: Request, owner: string, path: RegExpExecArray): Promise<Response> {
    const name = decode(path[1] ?? "");
    const chat = name === undefined ? undefined : await store.findChat(owner, name, appName);
    if (!chat || name === undefined) return refuse(404, "not_found", "There is no such chat.");
    if (path[2] === "model") {
      const events = (await store.events(chat.id)).slice(-maxEvents).map(({ event }) => event);
      return Response.json({ requests: record.of(chat.id), events }, { headers: noStore });
    }
    const last = new URL(request.url).searchParams.get("last");
    const after = last !== null && /^\d{1,7}$/.test(last) ? (await store.lastSequence(chat.id)) - Number(last) : 0;
    const head = { format: "adk-stream-protocol/log", version: 1, chat: name, savedAt: now() } as const;
    return new Response(logLines(store, head, { chat: chat.id, after: Math.max(0, after) }), {
      headers: { ...noStore, "content-type": "application/jsonl; charset=utf-8" },
    });
  }

  return async (request, owner) => {
    const { pathname } = new URL(request.url);
    const chat = /^\/debug\/chats\/([^/]+)\/(log|model)$/.exec(pathname);
    if (chat) return request.method === "GET" ? readChat(request, owner, chat) : notAllowed("GET");
    const act = { "/debug/cut": options.cut, "/debug/restart": options.restart }[pathname];
    if (!act) return undefined;
    if (request.method !== "POST") return notAllowed("POST");
    // Pages of allowed origins may chat. They may not disturb the server.
    if (!isOwnPage(request)) return refuse(403, "forbidden", "Only the page of this server may do this.");
    act();
    // Of several nodes, only the one that got the request does it. Its name says which.
    return Response.json({ accepted: true, process: processName }, { status: 202, headers: noStore });
  };
}

const noStore = { "cache-control": "no-store" };

function refuse(status: number, code: string, message: string): Response {
  return Response.json({ code, message }, { status, headers: noStore });
}

function notAllowed(allow: string): Response {
  return new Response(null, { status: 405, headers: { allow } });
}

function isOwnPage(request: Request): boolean {
  const origin = request.headers.get("origin");
  return origin !== null && origin === `http://${request.headers.get("host") ?? ""}`;
}

function decode(id: string): string | undefined {
  try {
    return decodeURIComponent(id);
  } catch {
    return undefined;
  }
}
