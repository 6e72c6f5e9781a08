import type { Store } from "../agent/index.ts";
import { logLines } from "./log-lines.ts";

/** What the inspector's routes read. */
export interface InspectorOptions {
  /** The store of the bridge. */
  store: Pick<Store, "findChat" | "read" | "lastSequence" | "events">;
  /** Whose chats these are, see `createBridge`. */
  appName: string;
  /** What the model was asked, by session: see `createModelRecord`. */
  record: { of(session: string): readonly unknown[] };
  /** The name of this node, if several share the store. Default: no name. */
  node?: string;
  /** The clock, in milliseconds. Default `Date.now`. */
  now?: () => number;
}

/** Answers a request of an authenticated owner. Undefined if it is for another path. */
export type InspectorRoutes = (request: Request, owner: string) => Promise<Response | undefined>;

/** How many of the model's events are sent, the newest. */
const maxEvents = 200;

/**
 * What the page's panels Events and State show, for the option `fallback` of `listen`. They show the raw log of a chat and
 * everything the model was told, to the owner of the chat. Leave them out in production unless your users may see that.
 *
 *     GET /debug/chats/:id/log?last=N   the chat's log as JSON lines
 *     GET /debug/chats/:id/model        what the model was asked and what it said
 *     GET /debug/chats/:id/state        the state of the chat's session
 */
export function createInspectorRoutes(options: InspectorOptions): InspectorRoutes {
  const { store, appName, record, node, now = Date.now } = options;

  return async (request, owner) => {
    const url = new URL(request.url);
    const path = /^\/debug\/chats\/([^/]+)\/(log|model|state)$/.exec(url.pathname);
    if (!path) return undefined;
    if (request.method !== "GET") return new Response(null, { status: 405, headers: { allow: "GET" } });
    const name = decode(path[1] ?? "");
    const chat = name === undefined ? undefined : await store.findChat(owner, name, appName);
    if (!chat || name === undefined)
      return Response.json({ code: "not_found", message: "There is no such chat." }, { status: 404, headers: noStore });
    if (path[2] === "state") return Response.json({ state: chat.state }, { headers: noStore });
    if (path[2] === "model") {
      const events = (await store.events(chat.id)).slice(-maxEvents).map(({ event }) => event);
      // The requests are in the memory of the process that made them, the events in the database.
      const from = node === undefined ? {} : { node };
      return Response.json({ requests: record.of(chat.id), events, ...from }, { headers: noStore });
    }
    const last = url.searchParams.get("last");
    const after = last !== null && /^\d{1,7}$/.test(last) ? (await store.lastSequence(chat.id)) - Number(last) : 0;
    const head = { format: "adk-stream-protocol/log", version: 1, chat: name, savedAt: now() } as const;
    return new Response(logLines(store, head, { chat: chat.id, after: Math.max(0, after) }), {
      headers: { ...noStore, "content-type": "application/jsonl; charset=utf-8" },
    });
  };
}

const noStore = { "cache-control": "no-store" };

function decode(id: string): string | undefined {
  try {
    return decodeURIComponent(id);
  } catch {
    return undefined;
  }
}
