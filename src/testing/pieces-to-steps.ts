import type { Piece } from "./script.ts";
import { splitWords } from "./split-words.ts";

type Json = Readonly<Record<string, unknown>>;

/** What a wire does, in order, to speak an answer. */
export type Step =
  | { readonly kind: "send"; readonly response: Json }
  | { readonly kind: "wait"; readonly until: PromiseLike<unknown> }
  | { readonly kind: "fail"; readonly code: number; readonly message: string }
  | { readonly kind: "drop" };

/** What every response of one answer repeats. */
export interface Reply {
  readonly modelVersion: string;
  readonly responseId: string;
  readonly promptTokens: number;
}

/** A wait, or what is said in one breath: a word, a part, or calls that follow one another. */
export type Beat = Extract<Step, { kind: "wait" }> | { readonly kind: "say"; readonly parts: readonly Json[] };
type Ending = Extract<Piece, { kind: "fail" | "drop" | "blocked" }>;

/**
 * An answer as the API sends it: in several responses when streamed, in one otherwise. Finish reason, grounding and
 * citations come with the last one; token counts grow from one to the next.
 */
export function piecesToSteps(pieces: readonly Piece[], reply: Reply, stream: boolean): Step[] {
  const end = pieces.findIndex(isEnding);
  const spoken = end === -1 ? pieces : pieces.slice(0, end);
  const ending = end === -1 ? undefined : (pieces[end] as Ending);

  const beats = stream ? toBeats(spoken) : mergeBeats(toBeats(spoken));
  if (ending === undefined) return toSteps(withLastWord(beats, spoken), spoken, reply, true);
  if (ending.kind === "blocked") {
    const waits = beats.filter((beat) => beat.kind === "wait");
    return [...waits, { kind: "send", response: refusal(ending, reply) }];
  }
  const before = stream ? beats : beats.filter((beat) => beat.kind !== "say");
  return [...toSteps(before, spoken, reply, false), ending];
}

function isEnding(piece: Piece): piece is Ending {
  return piece.kind === "fail" || piece.kind === "drop" || piece.kind === "blocked";
}

/** Pieces in the order and the portions in which they are spoken. What is not spoken is left out. */
export function toBeats(pieces: readonly Piece[]): Beat[] {
  const beats: Beat[] = [];
  for (const piece of pieces) {
    const previous = beats.at(-1);
    if (piece.kind === "text") {
      for (const word of splitWords(piece.text)) {
        beats.push({ kind: "say", parts: [piece.thought ? { text: word, thought: true } : { text: word }] });
      }
    } else if (piece.kind === "pause") {
      beats.push({ kind: "wait", until: piece.until });
    } else if (piece.kind === "part") {
      const parallel = isCall(piece.part) && previous?.kind === "say" && previous.parts.every(isCall);
      if (parallel) beats[beats.length - 1] = { kind: "say", parts: [...previous.parts, piece.part] };
      else beats.push({ kind: "say", parts: [piece.part] });
    }
  }
  return beats;
}

export function isCall(part: Json): boolean {
  return part["functionCall"] !== undefined;
}

/** For a reply in one response: all the waiting first, then all parts, each run of text as one. */
function mergeBeats(beats: readonly Beat[]): Beat[] {
  const parts: Json[] = [];
  for (const part of beats.flatMap((beat) => (beat.kind === "say" ? beat.parts : []))) {
    const previous = parts.at(-1);
    const joins =
      typeof part["text"] === "string" &&
      typeof previous?.["text"] === "string" &&
      part["thought"] === previous["thought"];
    if (joins) parts[parts.length - 1] = { ...part, text: `${String(previous["text"])}${String(part["text"])}` };
    else parts.push(part);
  }
  const waits = beats.filter((beat) => beat.kind !== "say");
  return parts.length === 0 ? waits : [...waits, { kind: "say", parts }];
}

/** An answer always ends with a response: where it ends with a pause or says nothing, an empty one as Gemini sends it. */
function withLastWord(beats: readonly Beat[], pieces: readonly Piece[]): readonly Beat[] {
  if (beats.at(-1)?.kind === "say") return beats;
  const stopped = pieces.every((piece) => piece.kind !== "finish" || piece.reason === "STOP");
  return [...beats, { kind: "say", parts: stopped ? [{ text: "" }] : [] }];
}

function toSteps(beats: readonly Beat[], pieces: readonly Piece[], reply: Reply, whole: boolean): Step[] {
  const counts = { thoughts: 0, candidates: 0 };
  return beats.map((beat, position) => {
    if (beat.kind !== "say") return beat;
    for (const part of beat.parts) counts[part["thought"] === true ? "thoughts" : "candidates"] += estimateTokens(part);
    const last = whole && position === beats.length - 1;
    const candidate = {
      ...(beat.parts.length > 0 && { content: { role: "model", parts: beat.parts } }),
      ...(last && closing(pieces)),
      index: 0,
    };
    return {
      kind: "send",
      response: {
        candidates: [candidate],
        usageMetadata: {
          promptTokenCount: reply.promptTokens,
          candidatesTokenCount: counts.candidates,
          ...(counts.thoughts > 0 && { thoughtsTokenCount: counts.thoughts }),
          totalTokenCount: reply.promptTokens + counts.candidates + counts.thoughts,
          ...reported(pieces),
        },
        ...envelope(reply),
      },
    };
  });
}

function closing(pieces: readonly Piece[]): Json {
  const fields: Record<string, unknown> = { finishReason: "STOP" };
  for (const piece of pieces) {
    if (piece.kind === "finish") {
      fields["finishReason"] = piece.reason;
      if (piece.message !== undefined) fields["finishMessage"] = piece.message;
    }
    if (piece.kind === "grounding") fields["groundingMetadata"] = piece.metadata;
    // The client calls them `citations`, the wire of the Developer API `citationSources`.
    if (piece.kind === "citation") fields["citationMetadata"] = { citationSources: piece.metadata.citations ?? [] };
  }
  return fields;
}

function reported(pieces: readonly Piece[]): Json {
  return Object.assign({}, ...pieces.map((piece) => (piece.kind === "usage" ? piece.usage : {})));
}

function refusal(piece: Extract<Piece, { kind: "blocked" }>, reply: Reply): Json {
  return {
    promptFeedback: {
      blockReason: piece.reason,
      ...(piece.message !== undefined && { blockReasonMessage: piece.message }),
    },
    usageMetadata: { promptTokenCount: reply.promptTokens, totalTokenCount: reply.promptTokens },
    ...envelope(reply),
  };
}

function envelope({ modelVersion, responseId }: Reply): Json {
  return { modelVersion, responseId };
}

/** About four characters to a token; never nothing for something. */
export function estimateTokens(value: unknown): number {
  const said = value as { text?: unknown };
  const length = typeof said.text === "string" ? said.text.length : JSON.stringify(value).length;
  return Math.ceil(length / 4);
}
