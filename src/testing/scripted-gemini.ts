/**
 * A Gemini that says what a script tells it, over the real HTTP wire and the real Live socket of the Developer API, so
 * that the real client and ADK's real `Gemini` class talk to it and the path that ships is the path that is tested.
 *
 *   request → read → record → pairing → rule → pieces → steps → wire
 *
 * This file is the HTTP wire; `live-wire.ts` is the other, on the same port.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { LiveSettings } from "./live-host.ts";
import { createLiveWire, type ScriptedLive } from "./live-wire.ts";
import { numbered } from "./numbered.ts";
import { pairingErrors } from "./pairing-errors.ts";
import { estimateTokens, piecesToSteps, type Step } from "./pieces-to-steps.ts";
import { readAsk, requestBody, type RequestBody } from "./read-ask.ts";
import { findRule, type Ask, type GeminiReplyEnd, type Piece, type Rule } from "./script.ts";

export interface ScriptedGeminiOptions {
  readonly rules: readonly Rule[];
  readonly port?: number;
  /** Loopback unless said otherwise: it answers anyone. */
  readonly host?: string;
  /** How long to wait between two streamed pieces, for a person to watch. */
  readonly delayMs?: number;
  /** Refuse, as the real one does, a conversation in which calls and responses do not pair. */
  readonly strictPairing?: boolean;
  readonly live?: LiveSettings;
}

/** What the model was told once, and what was wrong with it. */
export interface GeminiRequest extends Ask {
  readonly wire: "http" | "live";
  readonly stream: boolean;
  /** Live: what was wrong in the session since it was last answered. */
  readonly pairingErrors: readonly string[];
  /** Live: the session's setup with the contents so far. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface ScriptedGemini {
  readonly url: string;
  /** Every request in order, also those that were refused; each answer in a live session is one. */
  readonly requests: readonly GeminiRequest[];
  /** The nth request, counted from one, when it has come. */
  waitForRequest(number: number): Promise<GeminiRequest>;
  /** How the answer to the nth request ended, when it has. */
  waitForEnd(number: number): Promise<GeminiReplyEnd>;
  readonly live: ScriptedLive;
  /**
   * Forgets all requests and, where given, takes new rules. Answers under way over HTTP go on; live sessions end. The
   * live settings are those of the start unless others are given.
   */
  reset(rules?: readonly Rule[], options?: { readonly live?: LiveSettings }): void;
  close(): Promise<void>;
}

const maxBodyBytes = 20 * 1024 * 1024;
const modelPath = /^\/+v\d\w*\/models\/([^/:]+):(generateContent|streamGenerateContent)$/;

/** Starts a scripted Gemini. */
export async function startScriptedGemini(options: ScriptedGeminiOptions): Promise<ScriptedGemini> {
  const { port = 0, host = "127.0.0.1", delayMs = 0, strictPairing = true } = options;
  let { rules } = options;
  let arrivals = numbered<GeminiRequest>();
  let ends = numbered<GeminiReplyEnd>();
  let answered = 0;
  const requests: GeminiRequest[] = [];
  const underWay = new Set<Promise<void>>();

  type Told = Pick<GeminiRequest, "wire" | "stream" | "pairingErrors">;

  function record(body: RequestBody, model: string, told: Told): GeminiRequest {
    const request: GeminiRequest = { ...readAsk(body, model, requests.length + 1), ...told, body };
    requests.push(request);
    arrivals.settle(request.request, request);
    return request;
  }

  async function choosePieces(request: GeminiRequest): Promise<readonly Piece[]> {
    const rule = findRule(rules, request);
    if (rule === undefined) throw new ApiError(500, `The script has no rule for request ${request.request}.`);
    return typeof rule.say === "function" ? rule.say(request) : rule.say;
  }

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const wire = openWire(response);
    let settle: (end: GeminiReplyEnd) => void = () => undefined;
    try {
      const { model, stream } = readTarget(incoming);
      const body = await readBody(incoming);
      const errors = pairingErrors(body.contents);
      const request = record(body, model, { wire: "http", stream, pairingErrors: errors });
      const current = ends;
      settle = (end) => current.settle(request.request, end);
      answered += 1;
      const reply = {
        modelVersion: model,
        responseId: `response-${answered}`,
        promptTokens: estimateTokens(request.contents),
      };
      if (strictPairing && errors.length > 0) {
        throw new ApiError(400, `Calls and responses do not pair: ${errors.join("; ")}.`);
      }
      const pieces = await wire.unlessGone(choosePieces(request));
      settle(await play(piecesToSteps(pieces, reply, stream), wire, stream, delayMs));
    } catch (error) {
      if (error === clientGone) {
        settle("disconnected");
        return;
      }
      const known = toApiError(error);
      await wire.fail(known.code, known.message).then(
        () => settle("sent"),
        () => settle("disconnected"),
      );
    }
  }

  const server = createServer((incoming, response) => {
    const work = answer(incoming, response).finally(() => underWay.delete(work));
    underWay.add(work);
  });
  const live = createLiveWire(
    {
      delayMs,
      strictPairing,
      ask: (body, model, errors) => {
        const request = record(body, model, { wire: "live", stream: true, pairingErrors: errors });
        const current = ends;
        return {
          pieces: () => choosePieces(request).catch((error: unknown) => Promise.reject(toApiError(error))),
          ended: (end) => current.settle(request.request, end),
        };
      },
    },
    maxBodyBytes,
    options.live ?? {},
  );
  server.on("upgrade", live.upgrade);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const address = server.address() as AddressInfo;

  const giveUp = (reason: string): void => {
    arrivals.giveUp(new Error(reason));
    ends.giveUp(new Error(reason));
  };

  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`,
    requests,
    waitForRequest: (number) => arrivals.wait(number),
    waitForEnd: (number) => ends.wait(number),
    live,
    reset: (newRules = rules, settings = {}) => {
      const reason = "The scripted Gemini was reset before this came.";
      rules = newRules;
      requests.length = 0;
      giveUp(reason);
      live.reset(settings.live ?? options.live ?? {}, reason);
      arrivals = numbered();
      ends = numbered();
    },
    close: async () => {
      const reason = "The scripted Gemini was closed before this came.";
      await live.close(reason);
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await Promise.all(underWay);
      await closed;
      giveUp(reason);
    },
  };
}

const statusNames: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

/** A refusal in the API's own shape. */
class ApiError extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

function toApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError(500, `The script failed: ${String(error)}`);
}

const clientGone = new Error("The client went away.");

function readTarget({ method, url = "/" }: IncomingMessage): { model: string; stream: boolean } {
  const [path = "", query] = url.split("?", 2);
  const [, model, action] = modelPath.exec(path) ?? [];
  if (method !== "POST" || model === undefined) throw new ApiError(404, `There is nothing at ${method} ${path}.`);
  const stream = action === "streamGenerateContent";
  if (stream && new URLSearchParams(query).get("alt") !== "sse")
    throw new ApiError(400, "Streaming is spoken with alt=sse only.");
  return { model, stream };
}

async function readBody(incoming: IncomingMessage): Promise<RequestBody> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // What is over the limit is read and thrown away: a client that is still writing would not hear the refusal.
    for await (const chunk of incoming) {
      size += (chunk as Buffer).length;
      if (size <= maxBodyBytes) chunks.push(chunk as Buffer);
      else chunks.length = 0;
    }
  } catch {
    throw clientGone;
  }
  if (size > maxBodyBytes) throw new ApiError(400, `Request payload size exceeds the limit: ${maxBodyBytes} bytes.`);
  let json: unknown;
  try {
    json = JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    throw new ApiError(400, "Invalid JSON payload received.");
  }
  const parsed = requestBody.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new ApiError(400, `Invalid value at '${issue?.path.join(".")}': ${issue?.message}.`);
  }
  return parsed.data;
}

interface Wire {
  /** Waits, unless the client goes away first. */
  unlessGone<T>(promise: PromiseLike<T>): Promise<T>;
  /** Sends one response of a stream. */
  send(data: unknown): Promise<void>;
  /** Sends the only response, or ends the stream. */
  end(data?: unknown): Promise<void>;
  fail(code: number, message: string): Promise<void>;
  drop(): void;
}

function openWire(response: ServerResponse): Wire {
  const gone = new Promise<never>((_, reject) => response.once("close", () => reject(clientGone)));
  gone.catch(() => undefined);
  const unlessGone: Wire["unlessGone"] = (promise) => Promise.race([promise, gone]);

  // A chunk counts as sent when the system has it, so that what was sent before a drop does arrive.
  const write = (chunk: string): Promise<void> =>
    unlessGone(
      new Promise((resolve, reject) => response.write(chunk, (error) => (error ? reject(clientGone) : resolve()))),
    );
  const finish = (chunk?: string): Promise<void> =>
    unlessGone(new Promise<void>((resolve) => response.end(chunk, () => resolve())));
  const event = (data: unknown): string => `data: ${JSON.stringify(data)}\r\n\r\n`;

  return {
    unlessGone,
    send: (data) => {
      if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
      return write(event(data));
    },
    end: (data) => {
      if (data === undefined) return finish();
      response.writeHead(200, { "content-type": "application/json; charset=UTF-8" });
      return finish(JSON.stringify(data));
    },
    fail: (code, message) => {
      const body = { error: { code, message, status: statusNames[code] ?? "UNKNOWN" } };
      if (response.headersSent) return finish(event(body));
      response.writeHead(code, { "content-type": "application/json; charset=UTF-8" });
      return finish(JSON.stringify(body));
    },
    drop: () => response.destroy(),
  };
}

async function play(steps: readonly Step[], wire: Wire, stream: boolean, delayMs: number): Promise<GeminiReplyEnd> {
  let first = true;
  for (const step of steps) {
    switch (step.kind) {
      case "wait":
        await wire.unlessGone(step.until);
        break;
      case "send":
        if (!stream) {
          await wire.end(step.response);
          return "sent";
        }
        if (!first && delayMs > 0) await wire.unlessGone(sleep(delayMs));
        first = false;
        await wire.send(step.response);
        break;
      case "fail":
        await wire.fail(step.code, step.message);
        return "sent";
      case "drop":
        wire.drop();
        return "dropped";
      default:
        return step satisfies never;
    }
  }
  await wire.end();
  return "sent";
}
