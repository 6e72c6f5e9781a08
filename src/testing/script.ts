/**
 * What the scripted Gemini says, as data: a script is a list of rules, the first that fits answers, and an answer is a
 * list of pieces. Nothing here knows a wire, so the same script can be spoken over any.
 *
 *   const rules = [
 *     { when: /weather/i, say: [text("Let me look. "), call("get_weather", { location: "Tokyo" })] },
 *     { when: (ask) => ask.responses.length > 0, say: [text("It is sunny.")] },
 *   ];
 */
import type {
  BlockedReason,
  CitationMetadata,
  Content,
  FinishReason,
  GenerateContentResponseUsageMetadata,
  GroundingMetadata,
  Part,
} from "@google/genai";

/** One thing the model does. Made with the builders below. */
export type Piece =
  | { readonly kind: "text"; readonly text: string; readonly thought: boolean }
  | { readonly kind: "part"; readonly part: Readonly<Record<string, unknown>> }
  | { readonly kind: "grounding"; readonly metadata: Readonly<GroundingMetadata> }
  | { readonly kind: "citation"; readonly metadata: Readonly<CitationMetadata> }
  | { readonly kind: "usage"; readonly usage: Readonly<Partial<GenerateContentResponseUsageMetadata>> }
  | { readonly kind: "finish"; readonly reason: `${FinishReason}`; readonly message: string | undefined }
  | { readonly kind: "fail"; readonly code: number; readonly message: string }
  | { readonly kind: "blocked"; readonly reason: `${BlockedReason}`; readonly message: string | undefined }
  | { readonly kind: "pause"; readonly until: PromiseLike<unknown> }
  | { readonly kind: "drop" }
  // What only a live session can do. Over HTTP it is as if these were not there.
  | { readonly kind: "cancelCalls" }
  | { readonly kind: "goAway"; readonly timeLeft: string }
  | { readonly kind: "interrupted" }
  | { readonly kind: "closeWith"; readonly code: number; readonly reason: string };

/**
 * How the answer to a request ended: all of it was sent, the script dropped it, the client went away, or (live) it was
 * interrupted.
 */
export type GeminiReplyEnd = "sent" | "dropped" | "disconnected" | "interrupted";

/** A tool's answer, with the arguments of the call it answers. */
export interface ToolResponse {
  readonly id: string | undefined;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly response: Readonly<Record<string, unknown>>;
}

/** What the model is asked, read from one request. */
export interface Ask {
  /** What the user said last, in this request or an earlier one. Notes in the user's name are left out. */
  readonly text: string;
  /** Whether `text` is new since the model last spoke; false while the model goes on after tool results. */
  readonly fresh: boolean;
  /** The function responses since the model last spoke, with the arguments of their calls, however old these are. */
  readonly responses: readonly ToolResponse[];
  readonly contents: readonly Content[];
  readonly toolNames: readonly string[];
  readonly system: string;
  readonly model: string;
  /** Which request this is, counted from one. */
  readonly request: number;
}

/**
 * When to say what. A regular expression is tried on what the user has just said, so that it does not fit again when
 * the tool's result comes back; a function sees everything; without `when` the rule always fits.
 */
export interface Rule {
  readonly when?: RegExp | ((ask: Ask) => boolean);
  readonly say: readonly Piece[] | ((ask: Ask) => readonly Piece[] | Promise<readonly Piece[]>);
}

/** The first rule that fits. */
export function findRule(rules: readonly Rule[], ask: Ask): Rule | undefined {
  return rules.find(({ when }) => {
    if (when === undefined) return true;
    return typeof when === "function" ? when(ask) : ask.fresh && ask.text.search(when) !== -1;
  });
}

/** Text, streamed in small pieces. */
export const text = (said: string): Piece => ({ kind: "text", text: said, thought: false });

/** A thought summary, streamed in small pieces. */
export const thought = (said: string): Piece => ({ kind: "text", text: said, thought: true });

/** Any other part, as it goes over the wire; a chunk of its own. */
export const part = (wirePart: Part): Piece => ({ kind: "part", part: { ...wirePart } });

/**
 * A function call. Calls that follow one another travel in one chunk, as parallel calls do; a `pause` between them
 * sends them apart. In a live session the model waits for the responses to all calls of an answer, and what the answer
 * says behind them is left out, unless the tools are declared `NON_BLOCKING`.
 */
export const call = (name: string, args: Record<string, unknown> = {}, options: { id?: string } = {}): Piece => ({
  kind: "part",
  part: { functionCall: { ...options, name, args } },
});

/** Code the model wrote for Google's own code execution. */
export const code = (source: string, language = "PYTHON"): Piece => ({
  kind: "part",
  part: { executableCode: { language, code: source } },
});

/** What that code printed. */
export const codeResult = (output: string, outcome = "OUTCOME_OK"): Piece => ({
  kind: "part",
  part: { codeExecutionResult: { outcome, output } },
});

/** Bytes, base64. */
export const inlineData = (mimeType: string, data: string): Piece => ({
  kind: "part",
  part: { inlineData: { mimeType, data } },
});

/** A file by its address. */
export const file = (fileUri: string, mimeType: string): Piece => ({
  kind: "part",
  part: { fileData: { fileUri, mimeType } },
});

/** Grounding of the whole answer; arrives with its last chunk. */
export const grounding = (metadata: GroundingMetadata): Piece => ({ kind: "grounding", metadata });

/** Citations of the whole answer; arrive with its last chunk. */
export const citation = (metadata: CitationMetadata): Piece => ({ kind: "citation", metadata });

/** Token counts to report instead of the estimated ones. */
export const usage = (counts: Partial<GenerateContentResponseUsageMetadata>): Piece => ({
  kind: "usage",
  usage: counts,
});

/** Why the model stops, where it is not `STOP`. */
export const finish = (reason: `${FinishReason}`, message?: string): Piece => ({ kind: "finish", reason, message });

/**
 * An API error: an HTTP status before anything was said, an error inside the stream after that; live, the close of the
 * connection. Ends the answer.
 */
export const fail = (status: number, message: string): Piece => ({ kind: "fail", code: status, message });

/** The prompt itself is refused: feedback and no candidates; live, a turn without words. Ends the answer. */
export const blocked = (reason: `${BlockedReason}`, message?: string): Piece => ({ kind: "blocked", reason, message });

/** Wait for a promise the test holds, so that it can stop the model in the middle without sleeping. */
export const pause = (until: PromiseLike<unknown>): Piece => ({ kind: "pause", until });

/** The connection is lost here. */
export const drop = (): Piece => ({ kind: "drop" });

/** Live: the model takes back every call that has no response yet. Over HTTP nothing happens. */
export const cancelCalls = (): Piece => ({ kind: "cancelCalls" });

/** Live: the server says that it will soon close the connection. It does not do so by itself. Over HTTP nothing happens. */
export const goAway = (timeLeft = "10s"): Piece => ({ kind: "goAway", timeLeft });

/** Live: the model stops as if the user had spoken, and the turn is over. Over HTTP the answer goes on. */
export const interrupted = (): Piece => ({ kind: "interrupted" });

/** Live: the server closes the connection, and the answer ends here. Over HTTP the answer goes on. */
export const closeWith = (closeCode: number, reason = ""): Piece => ({ kind: "closeWith", code: closeCode, reason });

/** A promise to `pause` on, and the function that opens it. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
