import { parseChatRequest, parseResultRequest } from "../../protocol/index.ts";
import { interpret } from "../interpret.ts";
import { dialectOf, findRunning, messagesInDialect, viewOf } from "../views/index.ts";
import { withHistory } from "../with-history.ts";
import { askAgain, heldResponse, resumedResponse } from "./held-response.ts";
import { jsonResponse } from "./json-response.ts";
import { nameChat } from "./name-chat.ts";
import { limitOf } from "./page-limit.ts";
import { readBody } from "./read-body.ts";
import { readChatBody } from "./read-chat-body.ts";
import type { Route, RouteContext } from "./route.ts";
import { sseResponse } from "./sse-response.ts";

/** Chat requests, and what a client reads of a chat. */
export function streamRoutes(context: RouteContext): Route[] {
  const { bridge, logger, maxBodyBytes } = context;
  return [
    {
      path: /^\/stream$/,
      methods: {
        async POST(call) {
          const { request, url, owner, identity } = call;
          const confirmation = dialectOf(url, context);
          const body = parseChatRequest(await readChatBody(request, maxBodyBytes));
          const reply = await bridge.submit(identity, body.id, withHistory(interpret(body), body, body.id));
          const chatId = body.id === undefined ? reply.chatName : undefined;
          const reader = { bridge, owner, confirmation };
          const response = body.hold
            ? await heldResponse(reply, chatId, { ...reader, logger, isKnown: askAgain(call, context) })
            : sseResponse(bridge, reply, viewOf({ ...reader, chatId }), { logger });
          return nameChat(response, reply.chatName);
        },
      },
    },
    {
      path: /^\/stream\/([^/]+)\/stream$/,
      methods: {
        async GET(call) {
          const { request, url, owner, id } = call;
          const confirmation = dialectOf(url, context);
          // The turn that runs here has stopped and goes on elsewhere, so "no turn runs" would be wrong.
          bridge.stopping.throwIfAborted();
          const after = lastEventId(request);
          const nothing = () => new Response(null, { status: 204 });
          if (url.searchParams.get("hold") === "1") {
            const isKnown = askAgain(call, context);
            return (await resumedResponse(id, after, { bridge, owner, confirmation, logger, isKnown })) ?? nothing();
          }
          const running = await findRunning(bridge, owner, id, confirmation);
          if (!running) return nothing();
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
      path: /^\/stream\/([^/]+)\/results$/,
      methods: {
        async POST({ request, identity, id }) {
          const { toolCallId, ...report } = parseResultRequest(await readBody(request, maxBodyBytes));
          const { error: errorText } = report;
          const result = errorText === undefined ? { output: report.result } : { errorText };
          await bridge.submit(identity, id, { type: "answers", answers: [{ id: toolCallId, result }], aside: true });
          return jsonResponse({ accepted: true });
        },
      },
    },
    {
      path: /^\/stream\/([^/]+)\/messages$/,
      methods: {
        async GET({ url, owner, id }) {
          const confirmation = dialectOf(url, context);
          const { messages, before, approvals } = await bridge.messagePage(owner, id, pageRange(url));
          return jsonResponse({ messages: messagesInDialect(messages, confirmation, approvals), before });
        },
      },
    },
  ];
}

/** The part of the messages that a request asks for. */
function pageRange({ searchParams }: URL): { before?: string; limit?: number | undefined } {
  const before = searchParams.get("before") ?? undefined;
  return { ...(before !== undefined && { before }), limit: limitOf(searchParams) };
}

function lastEventId(request: Request): number | undefined {
  const id = request.headers.get("last-event-id");
  return id !== null && /^\d{1,15}$/.test(id) ? Number(id) : undefined;
}
