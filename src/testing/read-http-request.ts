import type { IncomingMessage } from "node:http";
import { ApiError } from "./api-error.ts";
import { clientGone } from "./http-wire.ts";
import { requestBody, type RequestBody } from "./read-ask.ts";

const modelPath = /^\/+v\d\w*\/models\/([^/:]+):(generateContent|streamGenerateContent)$/;

/** The model a request is for, and whether its response is streamed. Throws the API's refusal of any other request. */
export function readTarget({ method, url = "/" }: Pick<IncomingMessage, "method" | "url">): {
  model: string;
  stream: boolean;
} {
  const [path = "", query] = url.split("?", 2);
  const [, model, action] = modelPath.exec(path) ?? [];
  if (method !== "POST" || model === undefined) throw new ApiError(404, `There is nothing at ${method} ${path}.`);
  const stream = action === "streamGenerateContent";
  if (stream && new URLSearchParams(query).get("alt") !== "sse")
    throw new ApiError(400, "Streamed responses are available with alt=sse only.");
  return { model, stream };
}

/** The body of a request. Throws `clientGone` when the client leaves before its end. */
export async function readBody(incoming: AsyncIterable<unknown>, maxBytes: number): Promise<RequestBody> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // A body over the limit is read to its end: a client that is still writing would not see the refusal.
    for await (const chunk of incoming) {
      size += (chunk as Buffer).length;
      if (size <= maxBytes) chunks.push(chunk as Buffer);
      else chunks.length = 0;
    }
  } catch {
    throw clientGone;
  }
  if (size > maxBytes) throw new ApiError(400, `Request payload size exceeds the limit: ${maxBytes} bytes.`);
  return parseBody(Buffer.concat(chunks).toString());
}

function parseBody(text: string): RequestBody {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new ApiError(400, "Invalid JSON payload received.");
  }
  const parsed = requestBody.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new ApiError(400, `Invalid value at '${issue?.path.join(".")}': ${issue?.message}.`);
}
