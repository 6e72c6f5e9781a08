import { BridgeError, type ErrorCode } from "../protocol/errors.ts";

/** Where the server is, and how requests to it are made. */
export interface ServerOptions {
  /** Where the server's routes are: `/agent` if `POST /agent/stream` is one of them. Default: the root of the page's origin. */
  api?: string;
  /** Headers of every request, or a function that returns them: a token may expire. Default: none. */
  headers?: HeadersInit | (() => HeadersInit | Promise<HeadersInit>);
  /** As in `fetch`. Default `same-origin`. */
  credentials?: RequestCredentials;
  /** Makes the requests. Default: the global `fetch`. */
  fetch?: (input: string, init: RequestInit) => Promise<Response>;
}

export interface ServerRequest {
  /** Sent as JSON with `POST`; without it the method is `GET`. */
  body?: object | undefined;
  signal?: AbortSignal | undefined;
  headers?: HeadersInit | undefined;
}

/** The parsed body of a response; of a refusal, its code and sentence. */
export interface ServerReply<T> {
  status: number;
  body: T & { code?: ErrorCode; message?: string };
  /** How far the server's clock is ahead of the browser's, in milliseconds; 0 if that is not known. */
  clockOffset: number;
  /** After how many seconds the server wants the next attempt; undefined if it does not say. */
  retryAfter?: number | undefined;
}

export type ServerRequests = ReturnType<typeof serverRequests>;

/** Requests to the routes of the server (PROTOCOL.md §1). */
export function serverRequests(options: ServerOptions) {
  async function send(path: string, { body, signal, headers }: ServerRequest = {}): Promise<Response> {
    const { api = "", headers: given, credentials, fetch = globalThis.fetch } = options;
    const all = new Headers(typeof given === "function" ? await given() : given);
    for (const [name, value] of new Headers(headers)) all.set(name, value);
    if (body) all.set("content-type", "application/json");
    const request = { method: body ? "POST" : "GET", headers: all, credentials, signal, body: JSON.stringify(body) };
    return fetch(api.replace(/\/$/, "") + path, request);
  }

  /** Rejects only if there is no response, or not all of it. */
  async function json<T extends object>(path: string, request?: ServerRequest): Promise<ServerReply<T>> {
    return replyOf<T>(await send(path, request));
  }

  /** Rejects also if the server refuses. */
  async function read<T extends object>(path: string, request?: ServerRequest): Promise<ServerReply<T>> {
    const response = await send(path, request);
    if (!response.ok) throw await toError(response);
    return replyOf<T>(response);
  }

  return { send, json, read };
}

async function replyOf<T extends object>(response: Response): Promise<ServerReply<T>> {
  const { status, ok, headers } = response;
  // The date has whole seconds only, and is as old as the way of the response was long.
  const offset = Date.parse(headers.get("date") ?? "") + 500 - Date.now();
  const body = (await response.json().catch((error: unknown) => {
    // A refusal without JSON comes from something before the server. Otherwise the connection was cut in the body.
    if (!ok && error instanceof SyntaxError) return {};
    throw lostConnection();
  })) as ServerReply<T>["body"];
  const clockOffset = Math.abs(offset) > 2000 ? offset : 0;
  return { status, body, clockOffset, retryAfter: Number(headers.get("retry-after")) || undefined };
}

/** True if the same request may succeed later. The status of a response that a `fetch` makes of a failure is 0. */
export function mayPass({ status }: { status: number }): boolean {
  return [0, 408, 429].includes(status) || status >= 500;
}

/** The error of a reply that refuses a request, in the server's words if it has some. */
export function refusalOf({ status, body, retryAfter }: Omit<ServerReply<object>, "clockOffset">): BridgeError {
  const sentence = body.message ?? `The server replied with status ${status}.`;
  return new BridgeError(body.code ?? "internal", sentence, { retryAfter });
}

/** The error of a response that refuses a request. */
export async function toError(response: Response): Promise<BridgeError> {
  return refusalOf(await replyOf(response));
}

/** AI SDK takes a TypeError about the network for a reply that can be resumed. */
export function lostConnection(): TypeError {
  return new TypeError("The network connection to the chat is lost.");
}

/** The path of an approval. */
export function approvalPath(approvalId: string): string {
  return `/approvals/${encodeURIComponent(approvalId)}`;
}

/** The path of a chat. */
export function chatPath(chatId: string): string {
  return `/stream/${encodeURIComponent(chatId)}`;
}
