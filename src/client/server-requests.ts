import { BridgeError, toErrorCode } from "../protocol/errors.ts";
import { withoutUndefined } from "./without-undefined.ts";

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
  body: T & { code?: string; message?: string };
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
    const { api = "", credentials, fetch = globalThis.fetch.bind(globalThis) } = this.#options;
    const own = this.#options.headers;
    const all = new Headers(typeof own === "function" ? await own() : own);
    for (const [name, value] of new Headers(headers)) all.set(name, value);
    if (body) all.set("content-type", "application/json");
    const request = { method: method ?? (body ? "POST" : "GET"), headers: all, credentials, signal };
    return fetch(
      `${api.replace(/\/$/, "")}${path}`,
      withoutUndefined<RequestInit>({ ...request, body: body && JSON.stringify(body) }),
    );
  }

  /** Rejects only if there is no response, or not all of it. */
  async json<T extends object>(path: string, request?: ServerRequest): Promise<ServerReply<T>> {
    const sentAt = Date.now();
    const response = await this.send(path, request);
    const { status, headers } = response;
    const date = Date.parse(headers.get("date") ?? "");
    const offset = date + 500 - (sentAt + Date.now()) / 2;
    // The header has whole seconds only.
    const clockOffset = Math.abs(offset) > 2000 ? offset : 0;
    const body = (await response.json().catch((error: unknown) => {
      // A refusal without JSON comes from something before the server. Otherwise the connection was cut in the body.
      if (!response.ok && error instanceof SyntaxError) return {};
      throw new TypeError("The network connection was cut in the middle of a response.");
    })) as ServerReply<T>["body"];
    return { status, body, clockOffset, retryAfter: retryAfterIn(headers) };
  }
}

function retryAfterIn(headers: Headers): number | undefined {
  return Number(headers.get("retry-after")) || undefined;
}

/** Why a request was refused, in the server's words if it has some. */
export function sentenceOf({ status, body }: { status: number; body: { message?: string } }): string {
  return body.message ?? `The server replied with status ${status}.`;
}

/** The path of a chat. */
export function chatPath(chatId: string): string {
  return `/stream/${encodeURIComponent(chatId)}`;
}

/** The error of a response that refuses a request, in the server's words. */
export async function toError(response: Response): Promise<BridgeError> {
  const body = (await response.json().catch(() => ({}))) as { code?: string; message?: string };
  const retryAfter = retryAfterIn(response.headers);
  return new BridgeError(toErrorCode(body.code), sentenceOf({ status: response.status, body }), { retryAfter });
}
