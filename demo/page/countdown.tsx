import { useEffect, useState } from "react";
import { timeLeft } from "./format.ts";
import { useWords } from "./preferences.ts";

const circumference = 2 * Math.PI * 8;

/** The time left for an answer, by the server's clock. */
export function Countdown(props: { createdAt: number | undefined; expiresAt: number; clockOffset: number }) {
  const { createdAt, expiresAt, clockOffset } = props;
  const { t } = useWords();
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  const left = expiresAt - (now + clockOffset);
  const share = createdAt === undefined ? 1 : Math.min(1, Math.max(0, left / (expiresAt - createdAt)));
  return (
    <span className={left < 30_000 ? "countdown countdown-soon" : "countdown"}>
      <svg width="18" height="18" viewBox="0 0 20 20" aria-hidden="true">
        <circle className="ring-back" cx="10" cy="10" r="8" />
        <circle
          className="ring-front"
          cx="10"
          cy="10"
          r="8"
          strokeDasharray={`${share * circumference} ${circumference}`}
          transform="rotate(-90 10 10)"
        />
      </svg>
      {left > 0 ? t.expiresIn(timeLeft(left)) : t.expiring}
    </span>
  );
}
