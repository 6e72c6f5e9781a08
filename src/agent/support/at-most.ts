/** Timers overflow above this, and would end at once. */
export const longestMs = 2 ** 31 - 1;

/** Waits for the promise, but no longer than `ms`. Clears its timer, so the process can end meanwhile. */
export async function atMost(ms: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, longestMs));
  });
  try {
    await Promise.race([promise, over]);
  } finally {
    clearTimeout(timer);
  }
}
