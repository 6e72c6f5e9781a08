import type { Piece } from "./script.ts";
import { splitWords } from "./split-words.ts";

type Json = Readonly<Record<string, unknown>>;

/** What the HTTP wire does to send a response, in order. */
export type Step =
  | { readonly kind: "send"; readonly response: Json }
  | { readonly kind: "wait"; readonly until: PromiseLike<unknown> }
  | { readonly kind: "fail"; readonly code: number; readonly message: string }
  | { readonly kind: "drop" };

/** The fields that every chunk of one response repeats. */
export interface Envelope {
  readonly modelVersion: string;
  readonly responseId: string;
  readonly promptTokens: number;
}

/** A wait, or the content of one chunk: a word, a part, or calls that follow one another. */
export type Portion = Extract<Step, { kind: "wait" }> | { readonly kind: "say"; readonly parts: readonly Json[] };
type Ending = Extract<Piece, { kind: "fail" | "drop" | "blocked" }>;

/**
 * A response as the API sends it: in several chunks when streamed, in one otherwise. Finish reason, grounding and
 * citations come with the last chunk; token counts grow from chunk to chunk.
 */
export function piecesToSteps(pieces: readonly Piece[], envelope: Envelope, stream: boolean): Step[] {
  const end = pieces.findIndex(isEnding);
  const content = end === -1 ? pieces : pieces.slice(0, end);
  const ending = end === -1 ? undefined : (pieces[end] as Ending);

  const portions = stream ? toPortions(content) : mergePortions(toPortions(content));
  if (ending === undefined) return toSteps(withLastChunk(portions, content), content, envelope, true);
  if (ending.kind === "blocked") {
    const waits = portions.filter((portion) => portion.kind === "wait");
    return [...waits, { kind: "send", response: refusal(ending, envelope) }];
  }
  const before = stream ? portions : portions.filter((portion) => portion.kind !== "say");
  return [...toSteps(before, content, envelope, false), ending];
}

function isEnding(piece: Piece): piece is Ending {
  return piece.kind === "fail" || piece.kind === "drop" || piece.kind === "blocked";
}

/** The pieces that are content, in the portions in which they are sent. */
export function toPortions(pieces: readonly Piece[]): Portion[] {
  const portions: Portion[] = [];
  for (const piece of pieces) {
    const previous = portions.at(-1);
    if (piece.kind === "text") {
      for (const word of splitWords(piece.text)) {
        portions.push({ kind: "say", parts: [piece.thought ? { text: word, thought: true } : { text: word }] });
      }
    } else if (piece.kind === "pause") {
      portions.push({ kind: "wait", until: piece.until });
    } else if (piece.kind === "part") {
      const parallel = isCall(piece.part) && previous?.kind === "say" && previous.parts.every(isCall);
      if (parallel) portions[portions.length - 1] = { kind: "say", parts: [...previous.parts, piece.part] };
      else portions.push({ kind: "say", parts: [piece.part] });
    }
  }
  return portions;
}

/** Whether a part is a function call. */
export function isCall(part: Json): boolean {
  return part["functionCall"] !== undefined;
}

/** For a response in one chunk: all waits first, then all parts, with texts that follow one another joined. */
function mergePortions(portions: readonly Portion[]): Portion[] {
  const parts: Json[] = [];
  for (const part of portions.flatMap((portion) => (portion.kind === "say" ? portion.parts : []))) {
    const previous = parts.at(-1);
    const joins =
      typeof part["text"] === "string" &&
      typeof previous?.["text"] === "string" &&
      part["thought"] === previous["thought"];
    if (joins) parts[parts.length - 1] = { ...part, text: `${String(previous["text"])}${String(part["text"])}` };
    else parts.push(part);
  }
  const waits = portions.filter((portion) => portion.kind !== "say");
  return parts.length === 0 ? waits : [...waits, { kind: "say", parts }];
}

/** Adds an empty chunk, as Gemini sends it, to a response that is empty or ends with a pause. */
function withLastChunk(portions: readonly Portion[], pieces: readonly Piece[]): readonly Portion[] {
  if (portions.at(-1)?.kind === "say") return portions;
  const stopped = pieces.every((piece) => piece.kind !== "finish" || piece.reason === "STOP");
  return [...portions, { kind: "say", parts: stopped ? [{ text: "" }] : [] }];
}

function toSteps(portions: readonly Portion[], pieces: readonly Piece[], envelope: Envelope, whole: boolean): Step[] {
  const counts = { thoughts: 0, candidates: 0 };
  return portions.map((portion, position) => {
    if (portion.kind !== "say") return portion;
    for (const part of portion.parts)
      counts[part["thought"] === true ? "thoughts" : "candidates"] += estimateTokens(part);
    const last = whole && position === portions.length - 1;
    const candidate = {
      ...(portion.parts.length > 0 && { content: { role: "model", parts: portion.parts } }),
      ...(last && closing(pieces)),
      index: 0,
    };
    return {
      kind: "send",
      response: {
        candidates: [candidate],
        usageMetadata: {
          promptTokenCount: envelope.promptTokens,
          candidatesTokenCount: counts.candidates,
          ...(counts.thoughts > 0 && { thoughtsTokenCount: counts.thoughts }),
          totalTokenCount: envelope.promptTokens + counts.candidates + counts.thoughts,
          ...reported(pieces),
        },
        ...repeated(envelope),
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
    // Google's client calls them `citations`; on the wire of the Developer API they are `citationSources`.
    if (piece.kind === "citation") fields["citationMetadata"] = { citationSources: piece.metadata.citations ?? [] };
  }
  return fields;
}

function reported(pieces: readonly Piece[]): Json {
  return Object.assign({}, ...pieces.map((piece) => (piece.kind === "usage" ? piece.usage : {})));
}

function refusal(piece: Extract<Piece, { kind: "blocked" }>, envelope: Envelope): Json {
  return {
    promptFeedback: {
      blockReason: piece.reason,
      ...(piece.message !== undefined && { blockReasonMessage: piece.message }),
    },
    usageMetadata: { promptTokenCount: envelope.promptTokens, totalTokenCount: envelope.promptTokens },
    ...repeated(envelope),
  };
}

function repeated({ modelVersion, responseId }: Envelope): Json {
  return { modelVersion, responseId };
}

/** An estimate: four characters are a token. */
export function estimateTokens(value: unknown): number {
  const said = value as { text?: unknown };
  const length = typeof said.text === "string" ? said.text.length : JSON.stringify(value).length;
  return Math.ceil(length / 4);
}
