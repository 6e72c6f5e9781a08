import type { FinishReason } from "ai";

/** How a model's response ended, in AI SDK's words and in sentences for people. Pure. */

/** True for a code that says why a response ended; any other code is a failure. */
export function isFinishReason(code: string): boolean {
  return Object.hasOwn(finishReasons, code);
}

/** The reason in AI SDK's words. */
export function toFinishReason(reason: string): FinishReason {
  return (isFinishReason(reason) ? finishReasons[reason] : undefined) ?? "other";
}

/** The error for a response without any content. */
export function refusalText(reason?: string, message?: string): string {
  if (reason === undefined)
    return "The model returned nothing. The prompt may have been blocked by its safety filters.";
  return `The model returned nothing (${reason})${message ? `: ${message}` : "."}`;
}

/** The error for a model that failed. */
export function modelErrorText(code: string | undefined, message: string | undefined): string {
  const said = message ? `: ${message}` : ".";
  if (code === "429") return `The model is over its quota or rate limit (429)${said}`;
  return `The model returned an error (${code ?? "unknown"})${said}`;
}

/** Every finish reason of Gemini, and every reason to block a prompt. */
const finishReasons: Readonly<Partial<Record<string, FinishReason>>> = {
  FINISH_REASON_UNSPECIFIED: "stop",
  STOP: "stop",
  MAX_TOKENS: "length",
  CONTINUATION: "length",
  SAFETY: "content-filter",
  RECITATION: "content-filter",
  LANGUAGE: "content-filter",
  BLOCKLIST: "content-filter",
  PROHIBITED_CONTENT: "content-filter",
  SPII: "content-filter",
  IMAGE_SAFETY: "content-filter",
  IMAGE_RECITATION: "content-filter",
  IMAGE_PROHIBITED_CONTENT: "content-filter",
  MODEL_ARMOR: "content-filter",
  JAILBREAK: "content-filter",
  BLOCKED_REASON_UNSPECIFIED: "content-filter",
  MALFORMED_FUNCTION_CALL: "error",
  MALFORMED_RESPONSE: "error",
  MISSING_THOUGHT_SIGNATURE: "error",
  UNEXPECTED_TOOL_CALL: "error",
  TOO_MANY_TOOL_CALLS: "error",
  NO_IMAGE: "error",
  IMAGE_OTHER: "other",
  OTHER: "other",
};
