/** Returns a function that lets the event loop go on whenever it has been kept for `ms`. */
export function yieldEvery(ms: number): () => Promise<void> {
  let until = performance.now() + ms;
  return async () => {
    if (performance.now() < until) return;
    await new Promise((resolve) => setImmediate(resolve));
    until = performance.now() + ms;
  };
}
