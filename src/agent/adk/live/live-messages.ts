import type { LlmResponse } from "@google/adk";
import {
  FinishReason,
  type FunctionCall,
  type FunctionResponse,
  type GenerateContentResponseUsageMetadata,
  type LiveServerMessage,
  type Part,
  TurnCompleteReason,
  type UsageMetadata,
} from "@google/genai";
import { z } from "zod";
import { withMetadata } from "../event-metadata.ts";
import { notice } from "./notices.ts";

/** The fields of a server message that are read here. A message that does not fit ends the connection. */
export const liveMessage = z.looseObject({
  toolCall: z.looseObject({ functionCalls: z.array(z.looseObject({ name: z.string() })).nullish() }).nullish(),
  toolCallCancellation: z.looseObject({ ids: z.array(z.string()).nullish() }).nullish(),
  serverContent: z
    .looseObject({ modelTurn: z.looseObject({ parts: z.array(z.looseObject({})).nullish() }).nullish() })
    .nullish(),
});

/** A message, its calls with our ids, and the calls that had no response when it arrived. */
export interface Arrived {
  message: LiveServerMessage;
  calls: FunctionCall[];
  cancelled: string[];
  owed: string[];
}

/**
 * The calls of one connection. Each gets a unique id, because servers count from one on every connection and may use an id
 * twice, and an approval must name exactly the call a person saw.
 */
export class LiveCalls {
  readonly #prefix = `live-${crypto.randomUUID().slice(0, 8)}-`;
  /** Calls without a response, by our id, with the id and name the server uses. */
  readonly #open = new Map<string, FunctionCall>();
  #count = 0;

  take(message: LiveServerMessage): Arrived {
    const spoken = message.serverContent?.modelTurn?.parts ?? [];
    const made = [
      ...(message.toolCall?.functionCalls ?? []),
      ...spoken.flatMap(({ functionCall }) => functionCall ?? []),
    ];
    const calls = made.map((call): FunctionCall => {
      this.#count += 1;
      const id = this.#prefix + this.#count;
      this.#open.set(id, { id: call.id, name: call.name });
      return { ...call, id };
    });
    const ids = message.toolCallCancellation?.ids ?? [];
    const cancelled = [...this.#open].flatMap(([id, call]) =>
      call.id !== undefined && ids.includes(call.id) ? [id] : [],
    );
    for (const id of cancelled) this.#open.delete(id);
    return { message, calls, cancelled, owed: [...this.#open.keys()] };
  }

  /** A response with the id and name that the server used for the call. */
  respond({ id = "", name, response }: FunctionResponse) {
    const call = this.#open.get(id);
    this.#open.delete(id);
    return { id: call?.id, name: call?.name ?? name, response };
  }
}

/** Turns server messages into ADK responses: text in pieces and then whole, calls at once, usage with what it counts. */
export function liveResponses(modelVersion: string) {
  let spoken: { text: string; thought: boolean } | undefined;
  let usage: GenerateContentResponseUsageMetadata | undefined;

  function flush(): LlmResponse[] {
    if (!spoken) return [];
    const { text, thought } = spoken;
    spoken = undefined;
    return [{ content: { role: "model", parts: [{ text, ...(thought && { thought }) }] }, modelVersion }];
  }

  function* speak(parts: readonly Part[]): Generator<LlmResponse> {
    for (const part of parts) {
      // Calls are taken in `LiveCalls`; a model does not give function responses.
      if (part.functionCall || part.functionResponse) continue;
      if (part.text === undefined) {
        yield* flush();
        yield { content: { role: "model", parts: [part] }, modelVersion };
        continue;
      }
      const thought = part.thought ?? false;
      if (spoken?.thought !== thought) yield* flush();
      spoken = { text: (spoken?.text ?? "") + part.text, thought };
      if (part.text) yield { content: { role: "model", parts: [part] }, partial: true, modelVersion };
    }
  }

  function takeUsage(): Pick<LlmResponse, "usageMetadata"> {
    const taken = usage;
    usage = undefined;
    return taken ? { usageMetadata: taken } : {};
  }

  return function* read({ message, calls, cancelled, owed }: Arrived): Generator<LlmResponse> {
    const { serverContent, usageMetadata, goAway } = message;
    if (usageMetadata) usage = toUsage(usageMetadata);
    yield* speak(serverContent?.modelTurn?.parts ?? []);
    const { inputTranscription, outputTranscription } = serverContent ?? {};
    if (inputTranscription?.text) yield { inputTranscription, partial: !inputTranscription.finished, modelVersion };
    if (outputTranscription?.text) yield { outputTranscription, partial: !outputTranscription.finished, modelVersion };
    if (calls.length > 0) {
      yield* flush();
      const parts = calls.map((functionCall): Part => ({ functionCall }));
      yield { content: { role: "model", parts }, modelVersion, ...takeUsage() };
    }
    if (cancelled.length > 0) yield notice({ cancelled });
    if (serverContent?.interrupted) {
      yield* flush();
      yield { interrupted: true, modelVersion };
    }
    if (serverContent?.turnComplete) {
      yield* flush();
      const { groundingMetadata, turnCompleteReason } = serverContent;
      yield {
        turnComplete: true,
        modelVersion,
        ...takeUsage(),
        ...(groundingMetadata && { groundingMetadata }),
        ...(turnCompleteReason && { finishReason: toFinishReason(turnCompleteReason) }),
        ...(owed.length > 0 && withMetadata({ owed })),
      };
    }
    if (goAway) yield notice({ goAway: true });
  };
}

/** Gemini Live has many reasons for refusals; `generateContent` has one. */
function toFinishReason(reason: TurnCompleteReason): FinishReason {
  switch (reason) {
    case TurnCompleteReason.TURN_COMPLETE_REASON_UNSPECIFIED:
    case TurnCompleteReason.NEED_MORE_INPUT:
      return FinishReason.STOP;
    case TurnCompleteReason.MALFORMED_FUNCTION_CALL:
      return FinishReason.MALFORMED_FUNCTION_CALL;
    default:
      return FinishReason.SAFETY;
  }
}

function toUsage({ responseTokenCount, ...counts }: UsageMetadata): GenerateContentResponseUsageMetadata {
  return { ...counts, candidatesTokenCount: responseTokenCount };
}
