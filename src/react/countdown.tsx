import { useEffect, useState } from "react";
import { useWords } from "./approval-language.tsx";
import { useParts } from "./card-parts.tsx";

export interface CountdownProps {
  /** When the question was asked, for the ring. */
  createdAt?: number | undefined;
  expiresAt: number;
  /** How far the server's clock is ahead of the browser's, in milliseconds. */
  clockOffset?: number | undefined;
}

const circumference = 2 * Math.PI * 8;
const soonMs = 30_000;

/** The time left for an answer. */
export function Countdown({ createdAt, expiresAt, clockOffset = 0 }: CountdownProps) {
  const { labels } = useWords();
  const part = useParts();
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  const left = expiresAt - (now + clockOffset);
  const share = createdAt === undefined ? 1 : Math.min(1, Math.max(0, left / (expiresAt - createdAt)));
  return (
    <span {...part("countdown")} data-soon={left < soonMs || undefined} suppressHydrationWarning>
      <svg width="18" height="18" viewBox="0 0 20 20" fill="none" strokeWidth="3" aria-hidden="true">
        <circle {...part("ring")} stroke="currentColor" strokeOpacity="0.25" cx="10" cy="10" r="8" />
        <circle
          {...part("ring-left")}
          stroke="currentColor"
          cx="10"
          cy="10"
          r="8"
          strokeDasharray={`${(share * circumference).toFixed(1)} ${circumference}`}
          transform="rotate(-90 10 10)"
        />
      </svg>
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
