/**
 * A script, as data: a list of rules. The first rule that fits a request responds to it with a list of pieces. Nothing
 * here depends on a wire, so the same script works over HTTP and in a live session.
 *
 *   const rules = [
 *     { when: /weather/i, say: [text("Let me check. "), call("get_weather", { location: "Tokyo" })] },
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

/** One thing the model says or does. Made with the functions below. */
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
  // These are for live sessions only and are ignored over HTTP.
  | { readonly kind: "cancelCalls" }
  | { readonly kind: "goAway"; readonly timeLeft: string }
  | { readonly kind: "interrupted" }
  | { readonly kind: "closeWith"; readonly code: number; readonly reason: string };

/**
 * How the response to a request ended: all of it was sent, the script dropped the connection, the client went away, or
 * (live) it was interrupted.
 */
export type GeminiResponseEnd = "sent" | "dropped" | "disconnected" | "interrupted";

/** The response of a tool, with the arguments of its call. */
export interface ToolResponse {
  /** The id of the call, if it has one. */
  readonly id: string | undefined;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly response: Readonly<Record<string, unknown>>;
}

/** One request to the model, read for a script. */
export interface Ask {
  /** The last text of the user. Notes that ADK and the bridge add under the user's role are left out. */
  readonly text: string;
  /** Whether `text` is newer than the model's last turn; false while the model continues after tool results. */
  readonly fresh: boolean;
  /** The function responses since the model's last turn, with the arguments of their calls. */
  readonly responses: readonly ToolResponse[];
  /** The whole conversation. */
  readonly contents: readonly Content[];
  /** The tools the model may call. */
  readonly toolNames: readonly string[];
  /** The system instruction. */
  readonly system: string;
  /** The name of the model. */
  readonly model: string;
  /** The number of the request, counted from one. */
  readonly request: number;
}

/** When to respond, and with what. */
export interface Rule {
  /**
   * A regular expression fits a request with a fresh text that it matches, so it does not fit again when the result of
   * the tool comes back. A function decides for itself. Without `when` the rule always fits.
   */
  readonly when?: RegExp | ((ask: Ask) => boolean);
  /** The pieces of the response, or a function that returns them. */
  readonly say: readonly Piece[] | ((ask: Ask) => readonly Piece[] | Promise<readonly Piece[]>);
}

/** The first rule that fits. */
export function findRule(rules: readonly Rule[], ask: Ask): Rule | undefined {
  return rules.find(({ when }) => {
    if (when === undefined) return true;
    return typeof when === "function" ? when(ask) : ask.fresh && ask.text.search(when) !== -1;
  });
}

/** Text, streamed word by word. */
export const text = (said: string): Piece => ({ kind: "text", text: said, thought: false });

/** A thought summary, streamed word by word. */
export const thought = (said: string): Piece => ({ kind: "text", text: said, thought: true });

/** Any other part, exactly as given, in a chunk of its own. */
export const part = (wirePart: Part): Piece => ({ kind: "part", part: { ...wirePart } });

/**
 * A function call. Calls that follow one another are parallel calls and are sent in one chunk; a `pause` between them
 * separates them. In a live session the model waits for the responses to all calls of a response, and the text after
 * the calls is left out, unless the tools are declared `NON_BLOCKING`.
 */
export const call = (name: string, args: Record<string, unknown> = {}, options: { id?: string } = {}): Piece => ({
  kind: "part",
  part: { functionCall: { ...options, name, args } },
});

/** Code that the model wrote for Gemini's own code execution. */
export const code = (source: string, language = "PYTHON"): Piece => ({
  kind: "part",
  part: { executableCode: { language, code: source } },
});

/** The output of that code. */
export const codeResult = (output: string, outcome = "OUTCOME_OK"): Piece => ({
  kind: "part",
  part: { codeExecutionResult: { outcome, output } },
});

/** Bytes, as base64. */
export const inlineData = (mimeType: string, data: string): Piece => ({
  kind: "part",
  part: { inlineData: { mimeType, data } },
});

/** A file, by its URI. */
export const file = (fileUri: string, mimeType: string): Piece => ({
  kind: "part",
  part: { fileData: { fileUri, mimeType } },
});

/** Grounding of the whole response, sent with its last chunk. */
export const grounding = (metadata: GroundingMetadata): Piece => ({ kind: "grounding", metadata });

/** Citations of the whole response, sent with its last chunk. A live session has no place for them. */
export const citation = (metadata: CitationMetadata): Piece => ({ kind: "citation", metadata });

/** Token counts to report instead of estimates. */
export const usage = (counts: Partial<GenerateContentResponseUsageMetadata>): Piece => ({
  kind: "usage",
  usage: counts,
});

/** The finish reason, if it is not `STOP`. */
export const finish = (reason: `${FinishReason}`, message?: string): Piece => ({ kind: "finish", reason, message });

/**
 * An API error, which ends the response: an HTTP status before the first chunk, an error inside the stream after it, and
 * in a live session the close of the connection.
 */
export const fail = (status: number, message: string): Piece => ({ kind: "fail", code: status, message });

/** Refuses the prompt and ends the response: no candidates, and in a live session a turn without text. */
export const blocked = (reason: `${BlockedReason}`, message?: string): Piece => ({ kind: "blocked", reason, message });

/** Waits for a promise of the test, so that the test can look at an unfinished response without sleeping. See `gate`. */
export const pause = (until: PromiseLike<unknown>): Piece => ({ kind: "pause", until });

/** Breaks the connection. */
export const drop = (): Piece => ({ kind: "drop" });

/** Live only: the model takes back every call that has no response yet. */
export const cancelCalls = (): Piece => ({ kind: "cancelCalls" });

/** Live only: the server announces that it will close the connection. Add `closeWith` to close it. */
export const goAway = (timeLeft = "10s"): Piece => ({ kind: "goAway", timeLeft });

/** Live only: the model stops as if the user had spoken, and the turn is over. */
export const interrupted = (): Piece => ({ kind: "interrupted" });

/** Live only: the server closes the connection. */
export const closeWith = (closeCode: number, reason = ""): Piece => ({ kind: "closeWith", code: closeCode, reason });

/** A promise for `pause`, and the function that resolves it. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
