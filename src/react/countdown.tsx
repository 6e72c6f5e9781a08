import { useCard } from "./card-parts.tsx";
import { useSecondsUntil } from "./use-seconds-until.ts";

/** What a countdown counts down to. */
export interface CountdownProps {
  /** The time of the end, in milliseconds. */
  expiresAt: number;
  /** How far the server's clock is ahead of the browser's, in milliseconds. */
  clockOffset?: number | undefined;
}

const soon = 30;

/** The time left for an answer. */
export function Countdown({ expiresAt, clockOffset = 0 }: CountdownProps) {
  const { labels, part } = useCard();
  const left = useSecondsUntil(expiresAt - clockOffset);
  return (
    <span {...part("countdown")} data-soon={left < soon || undefined} suppressHydrationWarning>
      {left > 0 ? labels.expiresIn(timeLeft(left)) : labels.expiring}
    </span>
  );
}

/** `1:05`, or hours and minutes when it is long. */
export function timeLeft(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${String(seconds % 60).padStart(2, "0")}`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
