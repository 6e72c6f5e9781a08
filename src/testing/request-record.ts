import { numbered } from "./numbered.ts";
import { readAsk, type RequestBody } from "./read-ask.ts";
import type { Ask, GeminiResponseEnd } from "./script.ts";

/** One request to the model, and what was wrong with it. */
export interface GeminiRequest extends Ask {
  /** Whether it came over HTTP or inside a live session. */
  readonly wire: "http" | "live";
  /** Whether the client asked for a streamed response. */
  readonly stream: boolean;
  /** What the real Gemini would refuse. Live: what was wrong in the session since its previous request. */
  readonly pairingErrors: readonly string[];
  /** The body as it came. Live: the setup of the session with the contents so far. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** A request that was recorded, and the place to report how its response ended. */
export interface RecordedRequest {
  readonly request: GeminiRequest;
  ended(end: GeminiResponseEnd): void;
}

/**
 * The requests of a scripted Gemini, numbered from one. Each request holds its whole conversation, so only the last
 * ones are kept: a long conversation would otherwise need memory in proportion to the square of its length.
 */
export interface RequestRecord {
  /** The requests that are kept, in order. Always the same array. */
  readonly requests: readonly GeminiRequest[];
  add(
    body: RequestBody,
    model: string,
    details: Pick<GeminiRequest, "wire" | "stream" | "pairingErrors">,
  ): RecordedRequest;
  waitForRequest(number: number): Promise<GeminiRequest>;
  waitForEnd(number: number): Promise<GeminiResponseEnd>;
  /** Rejects for those who wait. */
  giveUp(reason: string): void;
  /** Forgets everything and counts from one again. */
  reset(reason: string): void;
}

/** Creates an empty record that keeps the last `maxRequests` requests. */
export function createRequestRecord(maxRequests: number): RequestRecord {
  const requests: GeminiRequest[] = [];
  const explainForgotten = (number: number): string =>
    `Request ${number} is no longer kept: a scripted Gemini keeps the last ${maxRequests} (maxRequests).`;
  let count = 0;
  let arrivals = numbered<GeminiRequest>(explainForgotten);
  let ends = numbered<GeminiResponseEnd>(explainForgotten);

  function giveUp(reason: string): void {
    arrivals.giveUp(new Error(reason));
    ends.giveUp(new Error(reason));
  }

  return {
    requests,
    add: (body, model, details) => {
      count += 1;
      const request: GeminiRequest = { ...readAsk(body, model, count), ...details, body };
      requests.push(request);
      arrivals.settle(count, request);
      if (requests.length > maxRequests) {
        requests.shift();
        arrivals.forget(count - maxRequests);
        ends.forget(count - maxRequests);
      }
      // A response that is under way over a reset reports to those who waited before it.
      const current = ends;
      return { request, ended: (end) => current.settle(request.request, end) };
    },
    waitForRequest: (number) => arrivals.wait(number),
    waitForEnd: (number) => ends.wait(number),
    giveUp,
    reset: (reason) => {
      requests.length = 0;
      count = 0;
      giveUp(reason);
      arrivals = numbered(explainForgotten);
      ends = numbered(explainForgotten);
    },
  };
}
