import { type ErrorCode, errorTable } from "adk-stream-protocol/protocol";
import type { Strings } from "./strings.ts";

type Texts = Pick<Strings, "serverErrors" | "serverSentences">;

/** The sentence to show for an error. When the server refuses, the error has a code, or its text is `{code, message}`. */
export function errorSentence(error: Error, texts: Texts): string {
  const refusal = refusalOf(error);
  const translated = refusal?.code === undefined ? undefined : texts.serverErrors[refusal.code];
  return translated ?? serverSentence(refusal?.message ?? error.message, texts);
}

/** A sentence that the server wrote, in the language of the page if it is one of those that the page knows. */
export function serverSentence(sentence: string, { serverSentences }: Texts): string {
  for (const [pattern, translated] of serverSentences) {
    const found = pattern.exec(sentence);
    if (found) return translated.replaceAll(/\$(\d)/g, (_, group: string) => found[Number(group)] ?? "");
  }
  return sentence;
}

/** Whether the server has refused a request. It has then not taken the message of the request. */
export function isRefusal(error: Error | undefined): boolean {
  return error !== undefined && refusalOf(error)?.code !== undefined;
}

/** Whether the connection failed. Chromium, Firefox and WebKit each have their own message for it. */
export function isDisconnect(error: Error | undefined): boolean {
  return error instanceof TypeError && /fetch|network|load failed/i.test(error.message);
}

function refusalOf(error: Error): { code: ErrorCode | undefined; message: string | undefined } | undefined {
  // Over the WebSocket the error itself has the code.
  if ("code" in error) return { code: toCode(error.code), message: error.message };
  try {
    const { code, message } = Object(JSON.parse(error.message)) as { code?: unknown; message?: unknown };
    return { code: toCode(code), message: typeof message === "string" && message !== "" ? message : undefined };
  } catch {
    // The text is not JSON, so it is the sentence itself.
    return undefined;
  }
}

function toCode(code: unknown): ErrorCode | undefined {
  return typeof code === "string" && Object.hasOwn(errorTable, code) ? (code as ErrorCode) : undefined;
}
