/** When the person is told that a file is still loading, and when it counts as failed. */
const noticeMs = 5000;
const longestMs = 60_000;

/**
 * Waits for a file that is being loaded. What it awaits, or a promise that it exports, may take long or never come: the
 * person is told, and after a minute the load fails, so that the next save is not held up.
 */
export async function loadInTime<T>(loading: Promise<T>, file: string, print: (line: string) => void): Promise<T> {
  const notice = setTimeout(() => print(`${file} is still loading …`), noticeMs);
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const what = `${file} was still loading after ${longestMs / 1000} seconds.`;
      reject(
        new Error(`${what} Something that it awaits at its top level, or a promise that it exports, does not end.`),
      );
    }, longestMs);
  });
  try {
    return await Promise.race([loading, tooLong]);
  } finally {
    clearTimeout(notice);
    clearTimeout(timer);
  }
}
