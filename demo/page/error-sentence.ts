/** The sentence to show for an error. When the server refuses, the error's text is its whole JSON `{code, message}`. */
export function errorSentence(error: Error): string {
  try {
    const { message } = JSON.parse(error.message) as { message?: unknown };
    if (typeof message === "string" && message !== "") return message;
  } catch {
    // The text is not JSON, so it is the sentence itself.
  }
  return error.message;
}

/** Whether the connection failed. Chromium, Firefox and WebKit each have their own message for it. */
export function isDisconnect(error: Error | undefined): boolean {
  return error instanceof TypeError && /fetch|network|load failed/i.test(error.message);
}
