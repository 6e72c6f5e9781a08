/** The server answers with `{error:{code, message}}`; a chat's error carries that text whole. */
export function errorSentence(error: Error): string {
  try {
    const body = JSON.parse(error.message) as { error?: { message?: unknown } | string; message?: unknown };
    const nested = typeof body.error === "object" ? body.error?.message : body.error;
    const text = nested ?? body.message;
    if (typeof text === "string" && text) return text;
  } catch {
    // Not JSON: the text is the sentence.
  }
  return error.message;
}

/** The connection failed, as far as a browser tells: Chromium, Firefox and WebKit each have their own words. */
export function isDisconnect(error: Error | undefined): boolean {
  return error instanceof TypeError && /fetch|network|load failed/i.test(error.message);
}
