import { errorResponse } from "./http/index.ts";
import { malformedRequest } from "./refusal.ts";
import { type Outgoing, sendResponse } from "./send-response.ts";
import { type Incoming, toRequest } from "./to-request.ts";

/** A request listener of `node:http`, `node:https` and `node:http2`, and a handler of Express and Connect. */
export type NodeHandler = (incoming: Incoming, outgoing: Outgoing) => void;

/**
 * Makes a handler of `createHandler` usable with Node's own servers and with frameworks that build on them:
 *
 *     app.use("/agent", toNodeHandler(createHandler(options)));      // Express
 *     createServer(toNodeHandler(createHandler(options)));           // node:http
 *
 * The response is written at the pace of the client. A client that leaves cancels it.
 */
export function toNodeHandler(handler: (request: Request) => Response | Promise<Response>): NodeHandler {
  return (incoming, outgoing) => {
    const request = toRequest(incoming);
    void sendResponse(request ? respond(request) : errorResponse(malformedRequest), outgoing);
  };

  /** Also catches what the handler throws at once. */
  async function respond(request: Request): Promise<Response> {
    return handler(request);
  }
}
