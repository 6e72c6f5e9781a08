import type { FunctionCall } from "@google/genai";
import { estimateTokens, isCall, toPortions } from "./pieces-to-steps.ts";
import type { Piece } from "./script.ts";

type Json = Readonly<Record<string, unknown>>;

/** What a live session does to send a response, in order. */
export type LiveStep =
  | { readonly kind: "say"; readonly part: Json }
  /** The last calls carry the `usage`, because a model that waits for their responses does not end its turn. */
  | { readonly kind: "call"; readonly calls: readonly FunctionCall[]; readonly usage: Json | undefined }
  | { readonly kind: "wait"; readonly until: PromiseLike<unknown> }
  | { readonly kind: "cancelCalls" }
  | { readonly kind: "goAway"; readonly timeLeft: string }
  | { readonly kind: "close"; readonly code: number; readonly reason: string }
  | { readonly kind: "drop" }
  | { readonly kind: "interrupted" }
  /** Ends the turn, unless the model waits for responses. */
  | { readonly kind: "end"; readonly closing: Json; readonly usage: Json };

/** A response as the Live API sends it. Its last step ends the turn or the connection. */
export function piecesToLiveSteps(pieces: readonly Piece[], promptTokens: number): LiveStep[] {
  const steps: LiveStep[] = [];
  const last = lastCall(pieces);
  const counts = { thoughts: 0, response: 0 };
  const usage = (): Json => ({
    promptTokenCount: promptTokens,
    responseTokenCount: counts.response,
    ...(counts.thoughts > 0 && { thoughtsTokenCount: counts.thoughts }),
    totalTokenCount: promptTokens + counts.response + counts.thoughts,
    ...reported(pieces),
  });
  const send = (content: readonly Piece[]): void => {
    for (const portion of toPortions(content)) {
      if (portion.kind === "wait") {
        steps.push(portion);
        continue;
      }
      for (const part of portion.parts)
        counts[part["thought"] === true ? "thoughts" : "response"] += estimateTokens(part);
      if (portion.parts.every(isCall)) {
        const calls = portion.parts.map((part) => part["functionCall"] as FunctionCall);
        steps.push({ kind: "call", calls, usage: calls.at(-1) === last ? usage() : undefined });
      } else steps.push(...portion.parts.map((part) => ({ kind: "say" as const, part })));
    }
  };

  // All content between two other pieces is sent together, so that calls that follow one another stay together.
  let begun = 0;
  for (const [position, piece] of pieces.entries()) {
    const act = toAct(piece);
    if (act === undefined) continue;
    send(pieces.slice(begun, position));
    begun = position + 1;
    steps.push(act.kind === "end" ? { ...act, usage: usage() } : act);
    if (act.kind !== "cancelCalls" && act.kind !== "goAway") return steps;
  }
  send(pieces.slice(begun));
  return [...steps, { kind: "end", closing: closing(pieces), usage: usage() }];
}

function lastCall(pieces: readonly Piece[]): unknown {
  const last = pieces.findLast((piece) => piece.kind === "part" && isCall(piece.part));
  return last?.kind === "part" ? last.part["functionCall"] : undefined;
}

/** The step for a piece that is not content. */
function toAct(piece: Piece): LiveStep | undefined {
  switch (piece.kind) {
    case "cancelCalls":
    case "goAway":
    case "drop":
    case "interrupted":
      return piece;
    case "closeWith":
      return { kind: "close", code: piece.code, reason: piece.reason };
    case "fail":
      // The Live API has no error message. It closes with 1011 for faults of the server and exceeded quotas, and with
      // 1008 for faults of the request.
      return { kind: "close", code: piece.code >= 500 || piece.code === 429 ? 1011 : 1008, reason: piece.message };
    case "blocked":
      return { kind: "end", closing: { turnCompleteReason: blockReasons[piece.reason] ?? "INPUT_OTHER" }, usage: {} };
    default:
      return undefined;
  }
}

/**
 * The Live API has no prompt feedback, but a turn can be complete for a reason, and some reasons name prohibited input.
 * Taken from the types of the API, not from an observed session.
 */
const blockReasons: Readonly<Record<string, string>> = {
  BLOCKLIST: "BLOCKLIST",
  PROHIBITED_CONTENT: "PROHIBITED_INPUT_CONTENT",
  IMAGE_SAFETY: "IMAGE_PROHIBITED_INPUT_CONTENT",
};

/** The finish reasons that the Live API has names for. The others end a turn without a reason. */
const finishReasons: Readonly<Record<string, string>> = {
  MALFORMED_FUNCTION_CALL: "MALFORMED_FUNCTION_CALL",
  SAFETY: "GENERATED_CONTENT_SAFETY",
  BLOCKLIST: "GENERATED_CONTENT_BLOCKLIST",
  PROHIBITED_CONTENT: "GENERATED_CONTENT_PROHIBITED",
  IMAGE_SAFETY: "GENERATED_IMAGE_SAFETY",
  IMAGE_PROHIBITED_CONTENT: "GENERATED_IMAGE_PROHIBITED",
};

/** The fields that come with the end of the turn. There is none for citations. */
function closing(pieces: readonly Piece[]): Json {
  const fields: Record<string, unknown> = {};
  for (const piece of pieces) {
    if (piece.kind === "finish" && finishReasons[piece.reason] !== undefined) {
      fields["turnCompleteReason"] = finishReasons[piece.reason];
    }
    if (piece.kind === "grounding") fields["groundingMetadata"] = piece.metadata;
  }
  return fields;
}

/** The token counts of the script, under the names of the Live API. */
function reported(pieces: readonly Piece[]): Json {
  const counts: Record<string, unknown> = {};
  for (const piece of pieces) if (piece.kind === "usage") Object.assign(counts, piece.usage);
  if (!("candidatesTokenCount" in counts)) return counts;
  const { candidatesTokenCount, ...others } = counts;
  return { responseTokenCount: candidatesTokenCount, ...others };
}
