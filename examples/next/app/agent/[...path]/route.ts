import { createHandler } from "adk-stream-protocol/server";
import { getBridge } from "../../../bridge.ts";

let handler: ReturnType<typeof createHandler> | undefined;

async function handle(request: Request): Promise<Response> {
  handler ??= createHandler({ bridge: await getBridge() });
  return handler(request);
}

export { handle as DELETE, handle as GET, handle as PATCH, handle as POST };
