/** Resolves with the promise, or rejects with this sentence when it takes longer than `ms`. The promise is not cancelled. */
export async function within<T>(ms: number, promise: Promise<T>, sentence: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(sentence)), ms);
  });
  try {
    return await Promise.race([promise, over]);
  } finally {
    clearTimeout(timer);
  }
}
