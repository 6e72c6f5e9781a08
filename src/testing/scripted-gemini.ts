/**
 * A Gemini that says what a script tells it, over the real HTTP API and the real Live API of the Gemini Developer API:
 * Google's own client and ADK's own `Gemini` class talk to it, so a test runs the code that runs in production.
 *
 *   request → read → record → check pairing → find the rule → pieces → steps → wire
 *
 * This file responds over HTTP; `live-wire.ts` does so over WebSockets, on the same port.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ApiError, toApiError } from "./api-error.ts";
import { clientGone, openHttpWire } from "./http-wire.ts";
import type { LiveSettings } from "./live-host.ts";
import { createLiveWire, type ScriptedLive } from "./live-wire.ts";
import { pairingErrors } from "./pairing-errors.ts";
import { estimateTokens, piecesToSteps } from "./pieces-to-steps.ts";
import { playSteps } from "./play-steps.ts";
import { readBody, readTarget } from "./read-http-request.ts";
import { createRequestRecord, type GeminiRequest } from "./request-record.ts";
import { findRule, type GeminiResponseEnd, type Piece, type Rule } from "./script.ts";

/** How a scripted Gemini is started. */
export interface ScriptedGeminiOptions {
  /** The script: the first rule that fits a request responds to it. */
  readonly rules: readonly Rule[];
  /** The port to listen on. Default: any free one. */
  readonly port?: number;
  /** The address to listen on. It responds to anyone and checks no key. Default `127.0.0.1`. */
  readonly host?: string;
  /** Milliseconds between two streamed chunks, for a person who watches. Default 0. */
  readonly delayMs?: number;
  /** Whether to refuse, as Gemini does, a conversation in which calls and responses do not pair. Default true. */
  readonly strictPairing?: boolean;
  /**
   * How many requests to keep for the test to look at; as many live sessions are kept. Older ones are forgotten, because
   * each request holds its whole conversation. Default 100.
   */
  readonly maxRequests?: number;
  /** How live sessions behave beyond what the rules say. Default: as Gemini's. */
  readonly live?: LiveSettings;
}

/** A scripted Gemini that is running. */
export interface ScriptedGemini {
  /** Its address, for `geminiAt` or for the `baseUrl` of Google's client. */
  readonly url: string;
  /**
   * The last requests in order, at most `maxRequests`, also those that were refused. Each response in a live session is
   * one request. `request` is the number of a request, counted from one.
   */
  readonly requests: readonly GeminiRequest[];
  /** The nth request, counted from one, when it has come. Rejects when it is no longer kept. */
  waitForRequest(number: number): Promise<GeminiRequest>;
  /** How the response to the nth request ended, when it has. Rejects when the request is no longer kept. */
  waitForEnd(number: number): Promise<GeminiResponseEnd>;
  /** The live sessions. */
  readonly live: ScriptedLive;
  /**
   * Forgets all requests, counts from one again and, if given, takes new rules. Responses under way over HTTP go on;
   * live sessions end. The live settings are those of the start unless others are given.
   */
  reset(rules?: readonly Rule[], options?: { readonly live?: LiveSettings }): void;
  /** Ends everything under way and frees the port. */
  close(): Promise<void>;
}

const maxBodyBytes = 20 * 1024 * 1024;

/** Starts a scripted Gemini. */
export async function startScriptedGemini(options: ScriptedGeminiOptions): Promise<ScriptedGemini> {
  const { port = 0, host = "127.0.0.1", delayMs = 0, strictPairing = true, maxRequests = 100 } = options;
  if (!Number.isInteger(maxRequests) || maxRequests < 1) {
    throw new RangeError(`maxRequests must be a whole number of at least 1; it is ${maxRequests}.`);
  }
  let { rules } = options;
  let responses = 0;
  const record = createRequestRecord(maxRequests);
  const underWay = new Set<Promise<void>>();

  async function choosePieces(request: GeminiRequest): Promise<readonly Piece[]> {
    const rule = findRule(rules, request);
    if (rule === undefined) throw new ApiError(500, `The script has no rule for request ${request.request}.`);
    return typeof rule.say === "function" ? rule.say(request) : rule.say;
  }

  async function respond(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const wire = openHttpWire(response);
    let ended: (end: GeminiResponseEnd) => void = () => undefined;
    try {
      const { model, stream } = readTarget(incoming);
      const body = await readBody(incoming, maxBodyBytes);
      const errors = pairingErrors(body.contents);
      const recorded = record.add(body, model, { wire: "http", stream, pairingErrors: errors });
      ended = recorded.ended;
      responses += 1;
      if (strictPairing && errors.length > 0) {
        throw new ApiError(400, `Calls and responses do not pair: ${errors.join("; ")}.`);
      }
      const envelope = {
        modelVersion: model,
        responseId: `response-${responses}`,
        promptTokens: estimateTokens(recorded.request.contents),
      };
      const pieces = await wire.unlessGone(choosePieces(recorded.request));
      ended(await playSteps(piecesToSteps(pieces, envelope, stream), wire, { stream, delayMs }));
    } catch (error) {
      if (error === clientGone) {
        ended("disconnected");
        return;
      }
      const { code, message } = toApiError(error);
      await wire.fail(code, message).then(
        () => ended("sent"),
        () => ended("disconnected"),
      );
    }
  }

  const server = createServer((incoming, response) => {
    const work = respond(incoming, response).finally(() => underWay.delete(work));
    underWay.add(work);
  });
  const live = createLiveWire(
    {
      delayMs,
      strictPairing,
      startRequest: (body, model, errors) => {
        const { request, ended } = record.add(body, model, { wire: "live", stream: true, pairingErrors: errors });
        const pieces = () => choosePieces(request).catch((error: unknown) => Promise.reject(toApiError(error)));
        return { pieces, ended };
      },
    },
    { maxPayload: maxBodyBytes, maxSessions: maxRequests },
    options.live ?? {},
  );
  server.on("upgrade", live.upgrade);
  const address = await startListening(server, port, host);

  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`,
    requests: record.requests,
    waitForRequest: record.waitForRequest,
    waitForEnd: record.waitForEnd,
    live,
    reset: (newRules = rules, settings = {}) => {
      const reason = "The scripted Gemini was reset before this came.";
      rules = newRules;
      record.reset(reason);
      live.reset(settings.live ?? options.live ?? {}, reason);
    },
    close: async () => {
      const reason = "The scripted Gemini was closed before this came.";
      await live.close(reason);
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await Promise.all(underWay);
      await closed;
      record.giveUp(reason);
    },
  };
}

async function startListening(server: Server, port: number, host: string): Promise<AddressInfo> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return server.address() as AddressInfo;
}
