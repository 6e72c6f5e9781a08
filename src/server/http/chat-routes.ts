import { parseChatChange } from "../../protocol/index.ts";
import { exportType, linesResponse } from "./lines-response.ts";
import { jsonResponse } from "./json-response.ts";
import { pageOf } from "./page-limit.ts";
import { readBody } from "./read-body.ts";
import { readLines } from "./read-lines.ts";
import type { Route, RouteContext } from "./route.ts";

const maxChangeBytes = 64 * 1024;
/** An exported chat may have many pictures and results. */
const maxImportBytes = 32 * 1024 * 1024;

/** The owner's chats: list, rename, delete, export, import. */
export function chatRoutes({ bridge, logger }: RouteContext): Route[] {
  const change: Route["methods"] = {
    async PATCH({ request, owner, id }) {
      const { title } = parseChatChange(await readBody(request, maxChangeBytes));
      return jsonResponse(await bridge.chats.rename(owner, id, title));
    },
    async DELETE({ owner, id }) {
      await bridge.chats.delete(owner, id);
      return new Response(null, { status: 204 });
    },
  };
  return [
    {
      path: /^\/chats$/,
      methods: {
        GET: async ({ url, owner }) => jsonResponse(await bridge.chats.list(owner, pageOf(url.searchParams))),
      },
    },
    {
      // A chat may have this id too.
      path: /^\/chats\/(import)$/,
      methods: {
        ...change,
        async POST({ request, owner }) {
          const lines = readLines(request, { type: exportType, maxBytes: maxImportBytes });
          return jsonResponse({ id: await bridge.chats.import(owner, lines) });
        },
      },
    },
    { path: /^\/chats\/([^/]+)$/, methods: change },
    {
      path: /^\/chats\/([^/]+)\/export$/,
      methods: {
        GET: async ({ owner, id }) => linesResponse(await bridge.chats.export(owner, id), { logger }),
      },
    },
  ];
}
