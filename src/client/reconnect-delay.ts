const firstDelayMs = 250;
const longestDelayMs = 10_000;

/**
 * How long to wait before the next attempt to connect, after so many failed ones: longer each time, up to a limit, and
 * with some chance in it, so that the pages of a server that restarts do not all come back at once.
 */
export function reconnectDelay(failures: number, random: () => number): number {
  const longest = Math.min(longestDelayMs, firstDelayMs * 2 ** Math.min(failures, 10));
  return longest * (0.5 + random() / 2);
}
