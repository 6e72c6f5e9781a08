/** A random id. Unlike `randomUUID` this also works on a page without TLS. */
export function newKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join("");
}
