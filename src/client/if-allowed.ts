/** Uses the browser's storage. Returns undefined if the browser forbids it, if it has no room, or if its text is no JSON. */
export function ifAllowed<T>(use: () => T): T | undefined {
  try {
    return use();
  } catch {
    return undefined;
  }
}
