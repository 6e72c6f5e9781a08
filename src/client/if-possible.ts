/** What a function returns; undefined if it throws, for example because the browser forbids storage or has no room. */
export function ifPossible<T>(use: () => T): T | undefined {
  try {
    return use();
  } catch {
    return undefined;
  }
}
