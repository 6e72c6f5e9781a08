import type { FunctionCall } from "@google/genai";
import { estimateTokens, isCall, toBeats } from "./pieces-to-steps.ts";
import type { Piece } from "./script.ts";

type Json = Readonly<Record<string, unknown>>;

/** What a live session does, in order, to speak an answer. */
export type LiveStep =
  | { readonly kind: "say"; readonly part: Json }
  /** `usage` with the last calls: a model that waits for responses ends no turn that could carry it. */
  | { readonly kind: "call"; readonly calls: readonly FunctionCall[]; readonly usage: Json | undefined }
  | { readonly kind: "wait"; readonly until: PromiseLike<unknown> }
  | { readonly kind: "cancelCalls" }
  | { readonly kind: "goAway"; readonly timeLeft: string }
  | { readonly kind: "close"; readonly code: number; readonly reason: string }
  | { readonly kind: "drop" }
  | { readonly kind: "interrupted" }
  /** The end of the turn, unless the model waits for responses. */
  | { readonly kind: "end"; readonly closing: Json; readonly usage: Json };

/** An answer as Live sends it. It always ends: with its turn, with the connection, or interrupted. */
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
  const speak = (spoken: readonly Piece[]): void => {
    for (const beat of toBeats(spoken)) {
      if (beat.kind === "wait") {
        steps.push(beat);
        continue;
      }
      for (const part of beat.parts) counts[part["thought"] === true ? "thoughts" : "response"] += estimateTokens(part);
      if (beat.parts.every(isCall)) {
        const calls = beat.parts.map((part) => part["functionCall"] as FunctionCall);
        steps.push({ kind: "call", calls, usage: calls.at(-1) === last ? usage() : undefined });
      } else steps.push(...beat.parts.map((part) => ({ kind: "say" as const, part })));
    }
  };

  // Pieces between two that are no speech are spoken together, so that calls which follow one another stay together.
  let begun = 0;
  for (const [position, piece] of pieces.entries()) {
    const act = toAct(piece);
    if (act === undefined) continue;
    speak(pieces.slice(begun, position));
    begun = position + 1;
    steps.push(act.kind === "end" ? { ...act, usage: usage() } : act);
    if (act.kind !== "cancelCalls" && act.kind !== "goAway") return steps;
  }
  speak(pieces.slice(begun));
  return [...steps, { kind: "end", closing: closing(pieces), usage: usage() }];
}

function lastCall(pieces: readonly Piece[]): unknown {
  const last = pieces.findLast((piece) => piece.kind === "part" && isCall(piece.part));
  return last?.kind === "part" ? last.part["functionCall"] : undefined;
}

/** What a piece does that is no speech. */
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
      // Live has no error message: what is wrong with the server or the quota closes as an internal error, what is
      // wrong with the request as a breach of policy.
      return { kind: "close", code: piece.code >= 500 || piece.code === 429 ? 1011 : 1008, reason: piece.message };
    case "blocked":
      return { kind: "end", closing: { turnCompleteReason: blockReasons[piece.reason] ?? "INPUT_OTHER" }, usage: {} };
    default:
      return undefined;
  }
}

/**
 * A refused prompt: Live knows no prompt feedback, but its messages have a reason for which a turn was complete, and
 * that has names for prohibited input. Read from the API's types; not seen in the wild.
 */
const blockReasons: Readonly<Record<string, string>> = {
  BLOCKLIST: "BLOCKLIST",
  PROHIBITED_CONTENT: "PROHIBITED_INPUT_CONTENT",
  IMAGE_SAFETY: "IMAGE_PROHIBITED_INPUT_CONTENT",
};

/** The finish reasons that Live has a name for; the others end a turn without a reason. */
const finishReasons: Readonly<Record<string, string>> = {
  MALFORMED_FUNCTION_CALL: "MALFORMED_FUNCTION_CALL",
  SAFETY: "GENERATED_CONTENT_SAFETY",
  BLOCKLIST: "GENERATED_CONTENT_BLOCKLIST",
  PROHIBITED_CONTENT: "GENERATED_CONTENT_PROHIBITED",
  IMAGE_SAFETY: "GENERATED_IMAGE_SAFETY",
  IMAGE_PROHIBITED_CONTENT: "GENERATED_IMAGE_PROHIBITED",
};

/** What comes with the end of the turn. Citations do not: Live has no place for them. */
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

/** The script's own token counts, under Live's names. */
function reported(pieces: readonly Piece[]): Json {
  const counts: Record<string, unknown> = {};
  for (const piece of pieces) if (piece.kind === "usage") Object.assign(counts, piece.usage);
  if (!("candidatesTokenCount" in counts)) return counts;
  const { candidatesTokenCount, ...others } = counts;
  return { responseTokenCount: candidatesTokenCount, ...others };
}
