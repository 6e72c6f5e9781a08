import { longestMs } from "./at-most.ts";

/** Resolves or rejects as the promise does, and rejects with `late()` if it has not done so after `ms`. */
export async function within<T>(ms: number, promise: Promise<T>, late: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), Math.min(ms, longestMs));
  });
  try {
    return await Promise.race([promise, over]);
  } finally {
    clearTimeout(timer);
  }
}
