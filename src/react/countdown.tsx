import { useCard } from "./card-parts.tsx";
import { useNow } from "./use-now.ts";

/** What a countdown counts down to. */
export interface CountdownProps {
  /** The time of the end, in milliseconds. */
  expiresAt: number;
  /** How far the server's clock is ahead of the browser's, in milliseconds. */
  clockOffset?: number | undefined;
}

const soonMs = 30_000;

/** The time left for an answer. */
export function Countdown({ expiresAt, clockOffset = 0 }: CountdownProps) {
  const { labels, part } = useCard();
  const now = useNow();
  const left = expiresAt - (now + clockOffset);
  return (
    <span {...part("countdown")} data-soon={left < soonMs || undefined} suppressHydrationWarning>
      {left > 0 ? labels.expiresIn(timeLeft(left)) : labels.expiring}
    </span>
  );
}

/** `1:05`, or hours and minutes when it is long. */
export function timeLeft(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${String(seconds % 60).padStart(2, "0")}`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
