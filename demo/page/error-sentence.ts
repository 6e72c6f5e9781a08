/** The server refuses with `{code, message}`; a chat's error carries that text whole. */
export function errorSentence(error: Error): string {
  try {
    const { message } = JSON.parse(error.message) as { message?: unknown };
    if (typeof message === "string" && message !== "") return message;
  } catch {
    // Not JSON: the text is the sentence.
  }
  return error.message;
}

/** The connection failed, as far as a browser tells: Chromium, Firefox and WebKit each have their own words. */
export function isDisconnect(error: Error | undefined): boolean {
  return error instanceof TypeError && /fetch|network|load failed/i.test(error.message);
}
