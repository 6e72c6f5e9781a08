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
  /** Sent as JSON with `POST`, unless it is undefined. */
  body?: object | undefined;
  method?: string;
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

/** Requests to the routes of the server (PROTOCOL.md §1). */
export class ServerRequests {
  readonly #options: ServerOptions;

  constructor(options: ServerOptions) {
    this.#options = options;
  }

  async send(path: string, { body, signal, method, headers }: ServerRequest = {}): Promise<Response> {
    const { api = "", credentials, fetch = globalThis.fetch } = this.#options;
    const own = this.#options.headers;
    const all = new Headers(typeof own === "function" ? await own() : own);
    for (const [name, value] of new Headers(headers)) all.set(name, value);
    if (body) all.set("content-type", "application/json");
    const given = body && JSON.stringify(body);
    const request = { method: method ?? (body ? "POST" : "GET"), headers: all, credentials, signal, body: given };
    return fetch(api.replace(/\/$/, "") + path, request);
  }

  /** Rejects only if there is no response, or not all of it. */
  async json<T extends object>(path: string, request?: ServerRequest): Promise<ServerReply<T>> {
    const sentAt = Date.now();
    return replyOf<T>(await this.send(path, request), sentAt);
  }

  /** Rejects also if the server refuses. */
  async read<T extends object>(path: string, request?: ServerRequest): Promise<ServerReply<T>> {
    const reply = await this.json<T>(path, request);
    if (reply.status !== 200) throw refusalOf(reply);
    return reply;
  }
}

async function replyOf<T extends object>(response: Response, sentAt: number): Promise<ServerReply<T>> {
  const { status, headers } = response;
  const offset = Date.parse(headers.get("date") ?? "") + 500 - (sentAt + Date.now()) / 2;
  const body = (await response.json().catch((error: unknown) => {
    // A refusal without JSON comes from something before the server. Otherwise the connection was cut in the body.
    if (!response.ok && error instanceof SyntaxError) return {};
    throw new TypeError("The network connection was cut in the middle of a response.");
  })) as ServerReply<T>["body"];
  // The date has whole seconds only.
  const clockOffset = Math.abs(offset) > 2000 ? offset : 0;
  return { status, body, clockOffset, retryAfter: Number(headers.get("retry-after")) || undefined };
}

/** The error of a reply that refuses a request, in the server's words if it has some. */
export function refusalOf({ status, body, retryAfter }: Omit<ServerReply<object>, "clockOffset">): BridgeError {
  const sentence = body.message ?? `The server replied with status ${status}.`;
  return new BridgeError(body.code ?? "internal", sentence, { retryAfter });
}

/** The error of a response that refuses a request. */
export async function toError(response: Response): Promise<BridgeError> {
  return refusalOf(await replyOf(response, 0));
}

/** The path of a chat. */
export function chatPath(chatId: string): string {
  return `/stream/${encodeURIComponent(chatId)}`;
}
