/** When work is tried again. */
const retryMs = [50, 250, 1000, 4000];
/** Work that has taken so long in all is not tried again. */
const patienceMs = 10_000;

/** Does work, and does it again a few times while it fails. Rejects with the last error, or with the first one that `isFinal`. */
export async function tryAgain<T>(work: () => Promise<T>, isFinal: (error: unknown) => boolean): Promise<T> {
  const until = performance.now() + patienceMs;
  for (const ms of retryMs)
    try {
      return await work();
    } catch (error) {
      if (isFinal(error) || performance.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, ms));
    }
  return work();
}
